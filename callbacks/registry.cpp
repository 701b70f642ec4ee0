#include <levin/callbacks/registry.h>
#include <c10/util/Type.h>
#include <levin/callbacks/backbone_finetuning.h>
#include <levin/callbacks/classification_report.h>
#include <levin/callbacks/device_stats_monitor.h>
#include <levin/callbacks/early_stopping.h>
#include <levin/callbacks/ema_weight_averaging.h>
#include <levin/callbacks/grad_norm_monitor.h>
#include <levin/callbacks/gradient_accumulation_scheduler.h>
#include <levin/callbacks/learning_rate_monitor.h>
#include <levin/callbacks/model_checkpoint.h>
#include <levin/callbacks/model_pruning.h>
#include <levin/callbacks/model_summary.h>
#include <levin/callbacks/on_exception_checkpoint.h>
#include <levin/callbacks/prediction_writer.h>
#include <levin/callbacks/sample_images.h>
#include <levin/callbacks/sample_text.h>
#include <levin/callbacks/spike_detection.h>
#include <levin/callbacks/stochastic_weight_averaging.h>
#include <levin/callbacks/terminate_on_nan.h>
#include <levin/callbacks/throughput_monitor.h>
#include <levin/callbacks/timer.h>
#include <levin/core/options/value_type.h>

namespace levin {
namespace {

/// Registers levin's own callbacks.
void register_builtins(Registry<CallbackKind::Entry>& registry) {
  add_callback<BackboneFinetuning>(registry, "BackboneFinetuning",
                                   "Trains the rest of a module first, its backbone later");
  add_callback<ClassificationReport>(registry, "ClassificationReport",
                                     "Writes the confusion matrix and the worst mistakes of a classifier");
  add_callback<DeviceStatsMonitor>(registry, "DeviceStatsMonitor", "Logs memory and use of the device");
  add_callback<EarlyStopping>(registry, "EarlyStopping", "Ends the run when a metric stops improving");
  add_callback<EMAWeightAveraging>(registry, "EMAWeightAveraging",
                                   "Validates and ends with a moving average of the weights");
  add_callback<GradNormMonitor>(registry, "GradNormMonitor", "Logs the norm of the gradients");
  add_callback<GradientAccumulationScheduler>(registry, "GradientAccumulationScheduler",
                                              "Changes accumulate_grad_batches during training");
  add_callback<LearningRateMonitor>(registry, "LearningRateMonitor", "Logs the learning rates");
  add_callback<ModelCheckpoint>(registry, "ModelCheckpoint", "Saves checkpoints, and keeps the best of them");
  add_callback<ModelPruning>(registry, "ModelPruning", "Sets the least important weights to 0");
  add_callback<ModelSummary>(registry, "ModelSummary", "Prints the layers before training");
  add_callback<OnExceptionCheckpoint>(registry, "OnExceptionCheckpoint",
                                      "Saves a checkpoint when an exception ends a fit");
  add_callback<PredictionWriter>(registry, "PredictionWriter", "Writes predictions to files");
  add_callback<SampleImages>(registry, "SampleImages", "Draws images during training");
  add_callback<SampleText>(registry, "SampleText", "Continues prompts during training");
  add_callback<SpikeDetection>(registry, "SpikeDetection", "Ends the run when the loss jumps");
  add_callback<StochasticWeightAveraging>(registry, "StochasticWeightAveraging",
                                          "Ends with the mean of the weights of the last epochs");
  add_callback<TerminateOnNaN>(registry, "TerminateOnNaN", "Ends the run at a loss that is NaN or infinite");
  add_callback<ThroughputMonitor>(registry, "ThroughputMonitor", "Logs samples, items and operations per second");
  add_callback<Timer>(registry, "Timer", "Measures the time of training and can end it");
}

/// Reads a list of ClassChoice<CallbackKind> and constructs the callbacks at once; each entry keeps its config.
class CallbacksType : public OptionType {
 public:
  using Parts = std::vector<ClassChoice<CallbackKind>>;

  std::string expected() const override { return parts_.expected(); }
  const ClassList* classes() const override { return &CallbackKind::registry(); }
  const OptionType* item() const override { return parts_.item(); }
  bool is_list() const override { return true; }
  Json from_text(const std::string& text) const override { return parts_.from_text(text); }

  Json get(const void* value) const override {
    Json list = Json::array();
    for (const CallbackEntry& entry : *static_cast<const std::vector<CallbackEntry>*>(value)) {
      const Callback& callback = *entry.callback;
      list.push_back(entry.config.empty() ? Json{{"class", c10::demangle(typeid(callback).name())}}
                                          : Json::parse(entry.config));
    }
    return list;
  }

  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override {
    Parts parts;
    parts_.set(&parts, path, json, limits);
    std::vector<CallbackEntry> entries;
    const Json configs = parts_.get(&parts);
    for (size_t i = 0; i < parts.size(); ++i) {
      CallbackEntry entry = parts[i].make(path + "[" + std::to_string(i) + "]");
      entry.config = configs[i].dump();
      entries.push_back(std::move(entry));
    }
    *static_cast<std::vector<CallbackEntry>*>(value) = std::move(entries);
  }

  void check(const void* value, const std::string& path, const Limits& /*limits*/) const override {
    const auto& entries = *static_cast<const std::vector<CallbackEntry>*>(value);
    for (size_t i = 0; i < entries.size(); ++i)
      if (!entries[i].callback) throw UsageError(path, "[", i, "]: expected a callback, got a null pointer");
  }

 private:
  const OptionType& parts_ = OptionTraits<Parts>::type();
};

}  // namespace

Registry<CallbackKind::Entry>& CallbackKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("callback", "callbacks");
    register_builtins(made);
    return made;
  }();
  return registry;
}

const OptionType& OptionTraits<std::vector<CallbackEntry>>::type() {
  static const CallbacksType type;
  return type;
}

}  // namespace levin
