#include <levin/modules/metrics/cosine_similarity.h>
#include <ATen/TensorOperators.h>
#include <levin/core/system/error.h>

namespace levin::metrics {
namespace {

RowReduction checked_reduction(const CosineSimilarityOptions& options) {
  schema_of<CosineSimilarityOptions>().check(&options, "CosineSimilarity");
  return options.reduction;
}

}  // namespace

CosineSimilarity::CosineSimilarity(Options options) : Cloneable(checked_reduction(options)) {}

void CosineSimilarity::update_states(const at::Tensor& preds, const at::Tensor& target) {
  if (preds.dim() != 2 || preds.sizes() != target.sizes())
    throw UsageError("CosineSimilarity: expected preds and target [batch, features], got ", preds.sizes(), " and ",
                     target.sizes());
  const at::Tensor a = preds.to(at::kDouble), b = target.to(at::kDouble);
  count((a * b).sum(1) / (a.square().sum(1).sqrt() * b.square().sum(1).sqrt()));
}

}  // namespace levin::metrics
