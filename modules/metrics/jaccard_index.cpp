#include <levin/modules/metrics/jaccard_index.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <levin/modules/metrics/engine/checked_task.h>

#include <utility>

namespace levin::metrics {
JaccardIndex::JaccardIndex(Options options)
    : Cloneable(checked_classification("JaccardIndex", options), options.threshold), options_(std::move(options)) {}

bool JaccardIndex::ignores_a_class() const {
  return task().kind == TaskKind::Multiclass && task().ignore_index && *task().ignore_index >= 0 &&
         *task().ignore_index < task().columns;
}

at::Tensor JaccardIndex::compute_value() const {
  const at::Tensor matrix = counts().to(at::kDouble);
  at::Tensor both, actual, predicted;
  if (task().kind == TaskKind::Multiclass) {
    both = matrix.diagonal();
    actual = matrix.sum(1);
    predicted = matrix.sum(0);
  } else {
    both = matrix.select(-2, 1).select(-1, 1);
    actual = matrix.select(-2, 1).sum(-1);
    predicted = matrix.select(-1, 1).sum(-1);
  }
  at::Tensor either = actual + predicted - both;
  if (ignores_a_class() && options_.average == ClassAverage::Micro) {
    either = either.clone();
    either.select(0, *task().ignore_index).zero_();
  }
  const auto divide = [&](const at::Tensor& numerator, const at::Tensor& denominator) {
    return (numerator / denominator).masked_fill(denominator == 0, options_.zero_division);
  };
  if (task().kind == TaskKind::Binary) return divide(both, either);
  if (options_.average == ClassAverage::Micro) return divide(both.sum(), either.sum());
  const at::Tensor values = divide(both, either);
  if (options_.average == ClassAverage::None) return values;
  at::Tensor weights = actual;
  if (options_.average == ClassAverage::Macro) {
    weights = at::ones_like(values);
    if (task().kind == TaskKind::Multiclass) weights = weights.masked_fill(actual + predicted == 0, 0);
    if (ignores_a_class()) weights.select(0, *task().ignore_index).zero_();
  }
  return (weights * values).sum() / weights.sum();
}

}  // namespace levin::metrics
