#include <levin/modules/metrics/cohen_kappa.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/outer.h>

namespace levin::metrics {
namespace {

ClassificationTask checked_task(const CohenKappaOptions& options) {
  schema_of<CohenKappaOptions>().check(&options, "CohenKappa");
  return classification_task("CohenKappa", options.task, options.num_classes, {}, options.ignore_index);
}

}  // namespace

CohenKappa::CohenKappa(Options options)
    : Cloneable(checked_task(options), options.threshold), weights_(options.weights) {}

at::Tensor CohenKappa::compute_value() const {
  const at::Tensor matrix = counts().to(at::kDouble);
  const at::Tensor by_chance = at::outer(matrix.sum(1), matrix.sum(0)) / matrix.sum();
  const at::Tensor classes = at::arange(matrix.size(0), matrix.options());
  const at::Tensor distance = (classes.unsqueeze(0) - classes.unsqueeze(1)).abs();
  at::Tensor weights = distance;
  if (weights_ == KappaWeights::None) weights = (distance > 0).to(at::kDouble);
  if (weights_ == KappaWeights::Quadratic) weights = distance.square();
  return 1 - (weights * matrix).sum() / (weights * by_chance).sum();
}

}  // namespace levin::metrics
