#include <levin/modules/nn/output_metric.h>
#include <ATen/TensorOperators.h>
#include <levin/core/system/error.h>

namespace levin {
namespace {

OutputScore accuracy_of(const at::Tensor& output, const at::Tensor& target, ClassDimension dimension) {
  const auto [values, classes] = with_classes_second(output, target, dimension);
  if (values.dim() < 2 || classes.dim() + 1 != values.dim() || classes.is_floating_point())
    throw UsageError("model.metric: accuracy compares numbers for each class with whole numbers; the output is ",
                     output.sizes(), " and the target ", target.scalar_type(), " ", target.sizes());
  const ClassHits hits = count_class_hits(values, classes, /*has_ignored=*/true);
  OutputScore score{.name = "acc", .counted = hits.counted, .is_shown = true};
  if (hits.counted > 0) score.value = hits.share;
  return score;
}

}  // namespace

OutputScore measure_output(OutputMetric metric, const at::Tensor& output, const at::Tensor& target,
                           ClassDimension classes) {
  if (metric == OutputMetric::Accuracy) return accuracy_of(output, target, classes);
  if (output.numel() != target.numel())
    throw UsageError("model.metric: the output is ", output.sizes(), " and the target ", target.sizes(),
                     "; errors compare tensors of one size");
  const at::Tensor error = output.reshape({-1}).to(at::kFloat).sub(target.reshape({-1}).to(at::kFloat));
  if (metric == OutputMetric::MeanAbsoluteError) return {.name = "mae", .value = error.abs().mean()};
  return {.name = "mse", .value = error.square().mean()};
}

}  // namespace levin
