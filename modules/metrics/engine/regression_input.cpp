#include <levin/modules/metrics/engine/regression_input.h>
#include <levin/core/system/error.h>

namespace levin::metrics {
namespace {

at::Tensor to_rows(const at::Tensor& values, int64_t outputs) {
  return (values.scalar_type() == at::kDouble ? values : values.to(at::kFloat)).reshape({-1, outputs});
}

}  // namespace

RegressionInput to_rows(const char* metric, const at::Tensor& preds, const at::Tensor& target, int64_t outputs) {
  if (preds.sizes() != target.sizes())
    throw UsageError(metric, ": expected preds and target of one shape, got ", preds.sizes(), " and ", target.sizes());
  if (outputs > 1 && (preds.dim() != 2 || preds.size(1) != outputs))
    throw UsageError(metric, ": expected [batch, ", outputs, "] as num_outputs says, got ", preds.sizes());
  return {to_rows(preds, outputs), to_rows(target, outputs)};
}

}  // namespace levin::metrics
