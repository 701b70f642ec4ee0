#include <levin/modules/nn/image_problem.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/mse_loss.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/metrics/named_metrics.h>
#include <levin/modules/nn/class_loss.h>

namespace levin::nn {
namespace {

/// Returns numbers [batch, columns] as the target has them: of one column also [batch].
at::Tensor as_target(const at::Tensor& logits, const at::Tensor& target) {
  return logits.dim() == 2 && logits.size(1) == 1 && target.dim() == 1 ? logits.squeeze(1) : logits;
}

void check_numbers(const at::Tensor& output, const at::Tensor& target, bool has_labels) {
  if (output.sizes() == target.sizes() && target.is_floating_point()) return;
  throw UsageError(
      "model.problem_type: ", has_labels ? "labels need a target of 0 and 1 for each" : "numbers need a target",
      ", floating point ", output.sizes(), "; it is ", target.scalar_type(), " ", target.sizes(),
      "; set model.num_classes to the number of columns, or data.target_type to ", has_labels ? "labels" : "number");
}

}  // namespace

metrics::MetricTask ImageProblem::task(int64_t columns) const {
  const metrics::Learned learned = problem_type == ProblemType::Regression ? metrics::Learned::Numbers
                                   : has_classes()                         ? metrics::Learned::Multiclass
                                   : columns == 1                          ? metrics::Learned::Binary
                                                                           : metrics::Learned::Multilabel;
  return {.learned = learned, .columns = columns};
}

at::Tensor ImageProblem::loss(const at::Tensor& logits, const at::Tensor& target, const std::string& advice) const {
  if (has_classes()) return cross_entropy_of(logits, target, advice);
  const bool has_labels = problem_type == ProblemType::MultiLabel;
  const at::Tensor output = as_target(logits, target);
  check_numbers(output, target, has_labels);
  const at::Tensor wanted = target.to(output.scalar_type());
  return has_labels ? at::binary_cross_entropy_with_logits(output, wanted) : at::mse_loss(output, wanted);
}

void ImageProblem::log_scores(LightningModule& module, metrics::NamedMetrics& named, const std::string& stage,
                              const at::Tensor& logits, const at::Tensor& target) const {
  if (has_classes()) {
    module.log(stage + "_acc", logits.argmax(1).eq(target).to(at::kFloat).mean(), {.prog_bar = true});
  } else if (problem_type == ProblemType::MultiLabel) {
    const at::Tensor right = as_target(logits, target).gt(0).eq(target.gt(0.5));
    module.log(stage + "_acc", right.to(at::kFloat).mean(), {.prog_bar = true});
  } else {
    module.log(stage + "_mae", (as_target(logits, target) - target).abs().mean(), {.prog_bar = true});
  }
  log_named(named, stage, logits, target);
}

void ImageProblem::log_named(metrics::NamedMetrics& named, const std::string& stage, const at::Tensor& logits,
                             const at::Tensor& target) const {
  if (!named.are_logged(stage)) return;
  if (has_classes()) return named.log(stage, logits, target);
  const at::Tensor output = as_target(logits, target);
  if (problem_type == ProblemType::Regression) return named.log(stage, output, target);
  named.log(stage, output.sigmoid(), target.gt(0.5).to(at::kLong));
}

at::Tensor ImageProblem::predicted(const at::Tensor& logits) const {
  if (has_classes()) return logits.softmax(1);
  return problem_type == ProblemType::MultiLabel ? logits.sigmoid() : logits;
}

}  // namespace levin::nn
