#include <levin/modules/metrics/matthews_corrcoef.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <levin/modules/metrics/engine/checked_task.h>

#include <cmath>
#include <limits>

namespace levin::metrics {
namespace {

/// The value of two classes of which one was never predicted or never there: not 0 but a number near it, whose sign
/// says which of right and wrong is more frequent, as torchmetrics has it.
at::Tensor value_of_one_sided(const at::Tensor& matrix) {
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  const double small = std::sqrt(kEpsilon);
  const at::Tensor tn = matrix[0][0], fp = matrix[0][1], fn = matrix[1][0], tp = matrix[1][1];
  at::Tensor numerator = at::where((fp == 0).logical_or(fn == 0), tp * tn, at::zeros_like(tp));
  numerator = at::where(tn == 0, tp - fp * fn, numerator);
  numerator = at::where(tp == 0, tn - fp * fn, numerator);
  numerator = at::where((tp == 0).logical_and(fp == 0), small * (tn - fn), numerator);
  numerator = at::where((tp == 0).logical_and(fn == 0), small * (tn - fp), numerator);
  numerator = at::where((fp == 0).logical_and(tn == 0), small * (tp - fn), numerator);
  numerator = at::where((fn == 0).logical_and(tn == 0), small * (tp - fp), numerator);
  const at::Tensor product = (tp + fp + kEpsilon) * (tp + fn + kEpsilon) * (tn + fp + kEpsilon) * (tn + fn + kEpsilon);
  return numerator / product.sqrt();
}

}  // namespace

MatthewsCorrCoef::MatthewsCorrCoef(Options options)
    : Cloneable(checked_classification("MatthewsCorrCoef", options), options.threshold) {}

at::Tensor MatthewsCorrCoef::compute_value() const {
  at::Tensor matrix = counts().to(at::kDouble);
  if (task().kind == TaskKind::Multilabel) matrix = matrix.sum(0);
  const at::Tensor actual = matrix.sum(1), predicted = matrix.sum(0), right = matrix.trace(), all = matrix.sum();
  const at::Tensor covariance = right * all - (actual * predicted).sum();
  const at::Tensor of_predicted = all.square() - predicted.square().sum();
  const at::Tensor of_actual = all.square() - actual.square().sum();
  const at::Tensor product = of_predicted * of_actual;
  at::Tensor degenerate = at::zeros_like(all);
  if (matrix.size(0) == 2) {
    degenerate = value_of_one_sided(matrix).masked_fill(right == all, 1).masked_fill(right == 0, -1);
    degenerate = degenerate.masked_fill(all == 0, 0);
  }
  return at::where(product == 0, degenerate, covariance / product.sqrt());
}

}  // namespace levin::metrics
