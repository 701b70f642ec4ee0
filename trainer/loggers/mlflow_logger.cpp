#include <levin/trainer/loggers/mlflow_logger.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/core/system/random_id.h>
#include <levin/data/files/image_file.h>
#include <levin/trainer/loggers/flat_json.h>
#include <levin/trainer/loggers/logged_tensors.h>
#include <levin/trainer/loggers/mlflow_sender.h>
#include <levin/trainer/loggers/unix_seconds.h>

#include <cctype>
#include <cstdlib>
#include <system_error>
#include <vector>

namespace levin {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
constexpr size_t kLongestName = 250, kLongestValue = 6000, kLongestTag = 5000;
constexpr double kLockPatience = 30;

int64_t unix_milliseconds() { return static_cast<int64_t>(unix_seconds() * 1000); }

/// Returns a name as MLflow allows it: letters, digits and "_-. :/"; no part is empty or "..".
std::string allowed_name(const std::string& name) {
  std::string allowed;
  for (const char c : name.substr(0, kLongestName)) {
    const bool good =
        std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_-. :/").find(c) != std::string::npos;
    const bool after_slash = allowed.empty() || allowed.back() == '/';
    allowed += !good || (after_slash && (c == '/' || c == '.')) ? '_' : c;
  }
  if (allowed.empty() || allowed.back() == '/') allowed += '_';
  return allowed;
}

MLflowLoggerOptions checked(MLflowLoggerOptions options) {
  schema_of<MLflowLoggerOptions>().check(&options, "MLflowLogger");
  const char* const variable = std::getenv("MLFLOW_TRACKING_URI");
  if (options.tracking_uri.empty() && variable != nullptr) options.tracking_uri = variable;
  if (options.tracking_uri.empty())
    throw UsageError(
        "MLflowLogger.tracking_uri: set it, or the variable MLFLOW_TRACKING_URI, to an MLflow server, such as "
        "http://127.0.0.1:5000");
  check_http_url("MLflowLogger.tracking_uri", options.tracking_uri);
  if (options.experiment_name.empty()) throw UsageError("MLflowLogger.experiment_name: expected a name, got \"\"");
  return options;
}

}  // namespace

MLflowLogger::MLflowLogger(const fs::path& folder, const MLflowLoggerOptions& options)
    : options_(checked(options)), folder_(folder), tasks_(std::make_unique<BackgroundTasks>(1)) {
  sender_ = std::make_shared<MLflowSender>(folder, options_.tracking_uri, options_.timeout_seconds, tasks_->stop(),
                                           kLockPatience);
  MLflowQueue& queue = sender_->queue();
  const std::string uri = without_password(options_.tracking_uri);
  const Json known_uri = queue.fact("tracking_uri");
  Json facts = {{"tracking_uri", uri},
                {"experiment_name", options_.experiment_name},
                {"run_name", options_.run_name},
                {"artifact_location", options_.artifact_location},
                {"tags", Json::object()}};
  for (const auto& [name, text] : options_.tags.values())
    facts["tags"][allowed_name(name)] = text.substr(0, kLongestTag);
  const bool is_new = known_uri.is_null() || known_uri != uri;
  if (is_new)
    facts.update({{"id", random_id()},
                  {"start_time", unix_milliseconds()},
                  {"experiment_id", ""},
                  {"artifact_uri", ""},
                  {"tried", false},
                  {"run_id", options_.run_id}});
  else if (!options_.run_id.empty() && queue.fact("run_id") != options_.run_id)
    facts.update({{"run_id", options_.run_id}, {"artifact_uri", ""}});
  queue.set_facts(facts);
  if (!is_new || !options_.run_id.empty()) queue.add({{"status", "RUNNING"}});
  if (!is_new || !options_.run_id.empty())
    for (const auto& [name, text] : facts["tags"].items()) queue.add({{"tag", name}, {"text", text}});
  wake();
}

// The tasks end before the sender that they use.
MLflowLogger::~MLflowLogger() { tasks_.reset(); }

std::string MLflowLogger::run_id() const {
  const Json id = sender_->queue().fact("run_id");
  return id.is_string() ? id.get<std::string>() : "";
}

void MLflowLogger::wake() {
  // If one waits already, it will do.
  tasks_->add([sender = sender_] {
    sender->send();
    sender->send_leftovers();
  });
}

void MLflowLogger::log_metrics(const Metrics& values, const LogRow& where) {
  if (values.empty()) return;
  check_metric_names(values);
  Json row = {{"step", where.step}, {"time", unix_milliseconds()}, {"values", Json::object()}};
  const std::string prefix = options_.prefix.empty() ? "" : options_.prefix + "-";
  for (const auto& [name, value] : values) row["values"][allowed_name(prefix + name)] = json_number(value);
  row["values"]["epoch"] = where.epoch;
  sender_->queue().add(std::move(row));
  wake();
}

void MLflowLogger::log_hyperparameters(const std::string& json) {
  const Json flat = flat_json(Json::parse(json), "/");
  if (flat.empty()) return;
  Json parameters = Json::object();
  for (const auto& [name, value] : flat.items())
    parameters[allowed_name(name)] =
        (value.is_string() ? value.get<std::string>() : json_text(value)).substr(0, kLongestValue);
  sender_->queue().add({{"parameters", parameters}});
  wake();
}

void MLflowLogger::log_image(const std::string& name, const at::Tensor& image, const LogRow& where) {
  const std::string path = "images/" + allowed_name(name) + "/step=" + std::to_string(where.step) + ".png";
  fs::create_directories((folder_ / path).parent_path());
  data::write_png(folder_ / path, image_bytes(name, image));
  sender_->queue().add({{"artifact", path}, {"file", path}});
  wake();
}

void MLflowLogger::log_text(const std::string& name, const std::string& text, const LogRow& where) {
  const std::string path = "texts/" + allowed_name(name) + "/step=" + std::to_string(where.step) + ".md";
  sender_->queue().add({{"artifact", path}, {"text", text}});
  wake();
}

void MLflowLogger::log_artifact(const fs::path& file, const std::string& folder) {
  if (!fs::is_regular_file(file)) throw Error("log_artifact: ", file.string(), " is no file");
  const fs::path absolute = fs::absolute(file).lexically_normal();
  const fs::path below = absolute.lexically_relative(fs::absolute(folder_).lexically_normal());
  const bool is_inside = !below.empty() && *below.begin() != "..";  // it stays in the folder if that is moved
  const std::string name = file.filename().string();
  sender_->queue().add({{"artifact", folder.empty() ? name : allowed_name(folder) + "/" + name},
                        {"file", is_inside ? below.string() : absolute.string()}});
  wake();
}

void MLflowLogger::log_exception(const std::string& message) {
  sender_->queue().add({{"tag", "levin.error"}, {"text", message.substr(0, kLongestTag)}});
}

void MLflowLogger::log_checkpoints() {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder_ / "checkpoints", error))
    if (entry.path().extension() == ".ckpt") files.push_back(entry.path());
  for (const fs::path& file : files) {
    if (file.filename() == "last.ckpt" && files.size() > 1) continue;
    for (const CheckpointPart& part : parts_beside(file)) log_artifact(part.file, "model/checkpoints");
    log_artifact(file, "model/checkpoints");
  }
}

void MLflowLogger::finalize(const std::string& status) {
  if (options_.log_model && status != "failed") log_checkpoints();
  sender_->queue().add({{"status", status == "failed" ? "FAILED" : "FINISHED"}, {"end_time", unix_milliseconds()}});
  // Each request ends by itself after timeout_seconds without a byte, and the first that fails ends the wait.
  const auto begin = std::chrono::steady_clock::now();
  for (bool added = false; !(added && tasks_->wait(0.05)) && !BackgroundTasks::is_late(begin);) {
    sender_->hurry();
    if (!added) added = tasks_->add([sender = sender_] { sender->send(); });
    if (!added) tasks_->wait(0.05);
  }
  tasks_->rethrow();
  const MLflowQueue& queue = sender_->queue();
  if (!queue.empty())
    console::info("MLflowLogger: " + queue.file().string() +
                  " keeps what could not be sent; a resumed run, or the next one beside it, sends it");
}

State MLflowLogger::state_dict() const { return State::dict({{"rows", sender_->queue().rows()}}); }

void MLflowLogger::load_state_dict(const State& state) { sender_->queue().rewind(state.at("rows").to_int()); }

}  // namespace levin
