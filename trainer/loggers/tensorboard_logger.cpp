#include <levin/trainer/loggers/tensorboard_logger.h>
#include <levin/data/files/image_codecs.h>
#include <levin/trainer/loggers/flat_json.h>
#include <levin/trainer/loggers/logged_tensors.h>
#include <levin/trainer/loggers/module_graph.h>
#include <levin/trainer/loggers/unix_seconds.h>

#include <bit>
#include <string_view>
#include <vector>

namespace levin {
namespace {

// Field numbers of Summary, Summary.Value and SummaryMetadata.
constexpr int kValue = 1, kTag = 1, kSimpleValue = 2, kImage = 4, kHistogram = 5, kTensor = 8, kMetadata = 9,
              kPluginData = 1;
// Field numbers of HParamsPluginData.
constexpr int kSessionStart = 3, kSessionEnd = 4;

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

/// Returns a google.protobuf.Value.
WireMessage hparam_value(const nlohmann::ordered_json& value) {
  if (value.is_boolean()) return WireMessage().add(4, int64_t{value.get<bool>()});
  if (value.is_number()) return WireMessage().add(2, value.get<double>());
  return WireMessage().add(3, value.is_string() ? value.get<std::string>() : value.dump());
}

/// Packs doubles as a repeated field does.
std::string packed(const std::vector<double>& values) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

}  // namespace

TensorBoardLogger::TensorBoardLogger(const std::filesystem::path& folder, const TensorBoardLoggerOptions& options)
    : options_(options), file_(folder) {}

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

void TensorBoardLogger::log_image(const std::string& name, const at::Tensor& image, const LogRow& where) {
  const at::Tensor bytes = image_bytes(name, image);
  const WireMessage content =
      WireMessage().add(1, bytes.size(1)).add(2, bytes.size(2)).add(3, bytes.size(0)).add(4, data::encode_png(bytes));
  file_.add_summary(WireMessage().add(kValue, WireMessage().add(kTag, name).add(kImage, content)), where.step);
}

void TensorBoardLogger::log_histogram(const std::string& name, const at::Tensor& values, const LogRow& where) {
  check_histogram(name, values);
  const Histogram histogram = histogram_of(values);
  if (histogram.limits.empty()) return;
  const WireMessage content = WireMessage()
                                  .add(1, histogram.min)
                                  .add(2, histogram.max)
                                  .add(3, histogram.count())
                                  .add(4, histogram.sum)
                                  .add(5, histogram.sum_of_squares)
                                  .add(6, packed(histogram.limits))
                                  .add(7, packed(histogram.counts));
  file_.add_summary(WireMessage().add(kValue, WireMessage().add(kTag, name).add(kHistogram, content)), where.step);
}

void TensorBoardLogger::log_text(const std::string& name, const std::string& text, const LogRow& where) {
  const WireMessage value = WireMessage()
                                .add(kTag, name + "/text_summary")
                                .add(kTensor, text_tensor(text))
                                .add(kMetadata, metadata("text", ""));
  file_.add_summary(WireMessage().add(kValue, value), where.step);
}

void TensorBoardLogger::log_graph(LightningModule& module) {
  if (options_.log_graph) file_.add_graph(module_graph(module));
}

// Without a summary of the experiment TensorBoard finds the hyperparameters and metrics of all runs by itself.
void TensorBoardLogger::log_hyperparameters(const std::string& json) {
  const auto all = nlohmann::ordered_json::parse(json);
  if (all.empty()) return;
  log_text("hyperparameters", "```json\n" + all.dump(2) + "\n```", {});
  WireMessage start;
  const auto flat = flat_json(all, ".");
  for (const auto& [name, value] : flat.items())
    start.add(1, WireMessage().add(1, name).add(2, hparam_value(value)));  // an entry of a map
  start.add(5, unix_seconds());
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
