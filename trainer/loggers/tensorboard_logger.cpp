#include <levin/trainer/loggers/tensorboard_logger.h>
#include <levin/trainer/loggers/unix_seconds.h>

#include <nlohmann/json.hpp>

namespace levin {
namespace {

// Field numbers of Summary, Summary.Value and SummaryMetadata.
constexpr int kValue = 1, kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9, kPluginData = 1;
// Field numbers of HParamsPluginData and its parts.
constexpr int kExperiment = 2, kSessionStart = 3, kSessionEnd = 4;

WireMessage metadata(const std::string& plugin, const std::string& content) {
  return WireMessage().add(kPluginData, WireMessage().add(1, plugin).add(2, content));
}

/// Encodes a string tensor with one element.
WireMessage text_tensor(const std::string& text) {
  constexpr int64_t kString = 7;
  const WireMessage shape = WireMessage().add(2, WireMessage().add(1, int64_t{1}));
  return WireMessage().add(1, kString).add(2, shape).add(8, text);
}

WireMessage hparams_summary(const std::string& tag, int part, const WireMessage& content) {
  const WireMessage data = WireMessage().add(1, int64_t{0}).add(part, content);
  return WireMessage().add(kValue, WireMessage().add(kTag, tag).add(kMetadata, metadata("hparams", data.bytes())));
}

/// Returns a google.protobuf.Value and its type on the HPARAMS page.
std::pair<WireMessage, int64_t> hparam_value(const nlohmann::ordered_json& value) {
  constexpr int64_t kText = 1, kBool = 2, kNumber = 3;
  if (value.is_boolean()) return {WireMessage().add(4, int64_t{value.get<bool>()}), kBool};
  if (value.is_number()) return {WireMessage().add(2, value.get<double>()), kNumber};
  return {WireMessage().add(3, value.is_string() ? value.get<std::string>() : value.dump()), kText};
}

/// Flattens nested options to their paths: {"optimizer": {"lr": 1}} becomes optimizer.lr.
nlohmann::ordered_json flattened(const nlohmann::ordered_json& json, const std::string& path = "") {
  nlohmann::ordered_json flat = nlohmann::ordered_json::object();
  for (const auto& [key, value] : json.items()) {
    const std::string own = path.empty() ? key : path + "." + key;
    if (value.is_object())
      flat.update(flattened(value, own));
    else
      flat[own] = value;
  }
  return flat;
}

}  // namespace

TensorBoardLogger::TensorBoardLogger(const std::filesystem::path& folder) : file_(folder) {}

void TensorBoardLogger::log_metrics(const Metrics& values, const LogRow& where) {
  if (values.empty()) return;
  check_metric_names(values);
  WireMessage summary;
  const auto scalar = [&](const std::string& tag, double value) {
    summary.add(kValue, WireMessage().add(kTag, tag).add_float(kSimpleValue, static_cast<float>(value)));
  };
  for (const auto& [name, value] : values) scalar(name, value);
  scalar("epoch", static_cast<double>(where.epoch));
  file_.add_summary(summary, where.step);
  step_ = where.step;
}

void TensorBoardLogger::log_text(const std::string& name, const std::string& text, int64_t step) {
  const WireMessage value = WireMessage()
                                .add(kTag, name + "/text_summary")
                                .add(kTensor, text_tensor(text))
                                .add(kMetadata, metadata("text", ""));
  file_.add_summary(WireMessage().add(kValue, value), step);
}

void TensorBoardLogger::log_hyperparameters(const std::string& json) {
  const auto all = nlohmann::ordered_json::parse(json);
  if (all.empty()) return;
  log_text("hyperparameters", "```json\n" + all.dump(2) + "\n```", 0);
  WireMessage experiment, start;
  experiment.add(3, unix_seconds());
  const auto flat = flattened(all);
  for (const auto& [name, value] : flat.items()) {
    const auto [content, type] = hparam_value(value);
    experiment.add(4, WireMessage().add(1, name).add(4, type));
    start.add(1, WireMessage().add(1, name).add(2, content));  // an entry of a map
  }
  start.add(5, unix_seconds());
  file_.add_summary(hparams_summary("_hparams_/experiment", kExperiment, experiment), 0);
  file_.add_summary(hparams_summary("_hparams_/session_start_info", kSessionStart, start), 0);
  session_open_ = true;
}

void TensorBoardLogger::finalize(const std::string& status) {
  constexpr int64_t kSuccess = 1, kFailure = 2;
  if (session_open_) {
    const WireMessage end = WireMessage().add(1, status == "failed" ? kFailure : kSuccess).add(2, unix_seconds());
    file_.add_summary(hparams_summary("_hparams_/session_end_info", kSessionEnd, end), 0);
  }
  session_open_ = false;
  file_.sync();
}

State TensorBoardLogger::state_dict() const { return State::dict({{"step", step_}}); }

void TensorBoardLogger::load_state_dict(const State& state) {
  step_ = state.at("step").to_int();
  file_.add_restart(step_ + 1);
}

}  // namespace levin
