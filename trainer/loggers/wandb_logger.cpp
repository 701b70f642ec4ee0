#include <levin/trainer/loggers/wandb_logger.h>
#include <levin/core/system/error.h>
#include <levin/core/system/host_name.h>
#include <levin/core/system/random_id.h>
#include <levin/trainer/loggers/row_file.h>
#include <levin/trainer/loggers/unix_seconds.h>

#include <array>
#include <cctype>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>

namespace levin {
namespace {

namespace fs = std::filesystem;
// Field numbers of wandb's Record and of what it holds.
constexpr int kWandbNumber = 1, kWandbHistory = 2, kWandbSummary = 3, kWandbRun = 17, kWandbExit = 18,
              kWandbHeader = 21;
constexpr int kWandbItem = 1, kWandbKey = 1, kWandbNestedKey = 2, kWandbValue = 16;
constexpr const char* kWandbVersion = "0.31.0";  // whose records these are

WandbLoggerOptions checked(WandbLoggerOptions options) {
  schema_of<WandbLoggerOptions>().check(&options, "WandbLogger");
  for (const char c : options.id)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-')
      throw UsageError("WandbLogger.id: expected letters, digits, _ and -, got \"", options.id, "\"");
  if (options.project.empty()) throw UsageError("WandbLogger.project: expected a name, got \"\"");
  return options;
}

/// Returns the file of an earlier session of the run, or the name of a new one.
fs::path file_in(const fs::path& folder, std::string id) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "wandb", error)) {
    const std::string name = entry.path().filename().string();
    const std::string start = "offline-run-00000000_000000-";
    if (!name.starts_with("offline-run-") || name.size() <= start.size()) continue;
    const std::string known = name.substr(start.size());
    if (id.empty() || id == known) return entry.path() / ("run-" + known + ".wandb");
  }
  if (id.empty()) id = random_id().substr(0, 8);
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  ::localtime_r(&now, &local);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y%m%d_%H%M%S", &local);
  const fs::path made = folder / "wandb" / (std::string("offline-run-") + text.data() + "-" + id);
  fs::create_directories(made / "files");
  return made / ("run-" + id + ".wandb");
}

WireMessage item(const std::string& key, const std::string& json) {
  return WireMessage().add(kWandbNestedKey, key).add(kWandbValue, json);
}

/// JSON as Python writes it, which knows NaN and Infinity.
std::string json_value(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return number_text(value);
}

}  // namespace

WandbLogger::WandbLogger(const fs::path& folder, const WandbLoggerOptions& options)
    : options_(checked(options)), file_(file_in(folder, options_.id)) {
  const std::string name = file_.path().stem().string();
  id_ = name.substr(name.find('-') + 1);
}

void WandbLogger::add(int field, const WireMessage& content) {
  file_.append(WireMessage().add(kWandbNumber, file_.records() + 1).add(field, content).bytes());
}

void WandbLogger::log_hyperparameters(const std::string& json) {
  if (file_.records() == 0) add_run(json);
}

void WandbLogger::add_run(const std::string& hyperparameters) {
  add(kWandbHeader, WireMessage().add(1, WireMessage().add(1, kWandbVersion).add(2, kWandbVersion)));
  WireMessage config;
  const auto all = nlohmann::ordered_json::parse(hyperparameters);
  for (const auto& [key, value] : all.items())
    config.add(1, WireMessage().add(kWandbKey, key).add(kWandbValue, value.dump()));
  const double now = unix_seconds();
  const auto seconds = static_cast<int64_t>(now);
  const auto nanoseconds = static_cast<int64_t>((now - static_cast<double>(seconds)) * 1e9);
  WireMessage run;
  const auto text = [&](int field, const std::string& value) {
    if (!value.empty()) run.add(field, value);
  };
  text(1, id_);
  text(2, options_.entity);
  text(3, options_.project);
  run.add(4, config);
  text(6, options_.group);
  text(7, options_.job_type);
  text(8, options_.name.empty() ? id_ : options_.name);
  text(9, options_.notes);
  for (const std::string& tag : options_.tags) text(10, tag);
  text(13, host_name());
  run.add(17, WireMessage().add(1, seconds).add(2, nanoseconds));
  add(kWandbRun, run);
}

void WandbLogger::log_metrics(const Metrics& values, const LogRow& where) {
  if (values.empty()) return;
  check_metric_names(values);
  if (file_.records() == 0) add_run("{}");
  WireMessage row, summary;
  const auto value = [&](const std::string& key, const std::string& json) {
    const WireMessage one = item(key, json);
    row.add(kWandbItem, one);
    summary.add(kWandbItem, one);
  };
  const std::string prefix = options_.prefix.empty() ? "" : options_.prefix + "-";
  for (const auto& [metric, number] : values) value(prefix + metric, json_value(number));
  value("epoch", std::to_string(where.epoch));
  value("trainer/global_step", std::to_string(where.step));
  value("_step", std::to_string(rows_));
  value("_runtime", json_value(where.wall_seconds));
  value("_timestamp", json_value(unix_seconds()));
  row.add(2, WireMessage().add(1, rows_));
  add(kWandbHistory, row);
  add(kWandbSummary, summary);
  ++rows_;
}

void WandbLogger::finalize(const std::string& status) {
  if (file_.records() == 0) return;
  add(kWandbExit, WireMessage().add(1, int64_t{status == "failed"}));
  file_.sync();
}

State WandbLogger::state_dict() const {
  return State::dict({{"rows", rows_}, {"bytes", file_.size()}, {"records", file_.records()}});
}

void WandbLogger::load_state_dict(const State& state) {
  rows_ = state.at("rows").to_int();
  file_.cut(state.at("bytes").to_int(), state.at("records").to_int());
}

}  // namespace levin
