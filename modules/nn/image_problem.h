#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/metric_task.h>
#include <levin/modules/nn/problem_type.h>

#include <cstdint>
#include <string>

namespace levin {

class LightningModule;
namespace metrics {
class NamedMetrics;
}

namespace nn {

/// What a classifier of images learns. As a member without LEVIN_OPTION its option is flattened into the module's.
struct ImageProblem {
  Choice<ProblemType> problem_type =
      LEVIN_OPTION(problem_type, ProblemType::SingleLabel,
                   "What is learned: one class of an image, any number of labels (targets of 0 and 1), or numbers",
                   {.choices = {"single_label_classification", "multi_label_classification", "regression"}});

  bool has_classes() const { return problem_type == ProblemType::SingleLabel; }
  /// Returns what metrics measure of `columns` outputs.
  metrics::MetricTask task(int64_t columns) const;
  /// Returns the loss of logits [batch, columns], a scalar: cross-entropy, binary cross-entropy with logits, or mean
  /// squared error, whose targets are [batch, columns], or [batch] of one column. Throws levin::UsageError for a target
  /// that does not fit; `advice` as that of cross_entropy_of.
  at::Tensor loss(const at::Tensor& logits, const at::Tensor& target, const std::string& advice) const;
  /// Logs what an evaluation finds: `<stage>_acc`, the share of right classes or of right labels, or `<stage>_mae` of
  /// numbers; and the named metrics.
  void log_scores(LightningModule& module, metrics::NamedMetrics& named, const std::string& stage,
                  const at::Tensor& logits, const at::Tensor& target) const;
  /// Counts a batch in the named metrics of a stage.
  void log_named(metrics::NamedMetrics& named, const std::string& stage, const at::Tensor& logits,
                 const at::Tensor& target) const;
  /// Returns the probability of each class or label, or the numbers.
  at::Tensor predicted(const at::Tensor& logits) const;
};

}  // namespace nn
}  // namespace levin
