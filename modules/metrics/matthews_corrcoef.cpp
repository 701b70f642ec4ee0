#include <levin/modules/metrics/matthews_corrcoef.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <levin/modules/metrics/engine/checked_task.h>

namespace levin::metrics {
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
  if (task().kind != TaskKind::Multiclass) degenerate = (right == all).to(at::kDouble) - (right == 0).to(at::kDouble);
  degenerate = degenerate.masked_fill(all == 0, 0);
  return at::where(product == 0, degenerate, covariance / product.sqrt());
}

}  // namespace levin::metrics
