#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/metrics/metric_choices.h>
#include <levin/modules/metrics/metric_task.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

class LightningModule;

namespace metrics {

/// The metrics that a config names, in a module. The module calls `set` in its constructor, `use` as soon as it knows
/// what it learns, and `log` in its steps:
///
///     LitClassifier::LitClassifier(Options o) { metrics_.set(*this, "LitClassifier", o.measured, {"loss"}); }
///     metrics_.use({.learned = metrics::Learned::Multiclass, .columns = 10});
///     metrics_.log("val", logits, batch.target());     // in validation_step: logs val_accuracy, say
class NamedMetrics {
 public:
  NamedMetrics();
  ~NamedMetrics();
  NamedMetrics(const NamedMetrics&) = delete;
  NamedMetrics& operator=(const NamedMetrics&) = delete;

  /// `name` is the module's, for errors; `own` are the names that the module logs itself, without the stage. Throws
  /// levin::UsageError for a name that is taken, and, of a module that does not count in training, for a metric that is
  /// to be logged there.
  void set(LightningModule& module, const std::string& name, const MetricChoices& choices,
           const std::vector<std::string>& own, bool counts_in_training = true);
  /// Makes the metrics; a later call does nothing. Throws levin::UsageError, which names module and metric, for a
  /// metric that does not measure such predictions and for options that contradict the task.
  void use(const MetricTask& task);
  /// Returns whether the stage ("train", "val", "test") has metrics, so that others need not compute for them.
  bool are_logged(const std::string& stage) const;
  /// Counts the predictions of a batch, shaped as Learned says, and logs the metrics as those of the stage.
  /// Probabilities may stand for logits, and probabilities of the classes for a target. Throws as Metric::update.
  void log(const std::string& stage, const at::Tensor& preds, const at::Tensor& target);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  ///< null if nothing is named
};

}  // namespace metrics
}  // namespace levin
