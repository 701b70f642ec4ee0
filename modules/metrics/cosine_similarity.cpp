#include <levin/modules/metrics/cosine_similarity.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>

#include <utility>

namespace levin::metrics {

CosineSimilarity::CosineSimilarity(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "CosineSimilarity");
  if (options_.reduction == RowReduction::None) {
    values_ = add_list_state("values");
  } else {
    total_ = add_state("total", {}, at::kDouble);
    count_ = add_state("count", {}, at::kLong);
  }
}

void CosineSimilarity::update_states(const at::Tensor& preds, const at::Tensor& target) {
  if (preds.dim() != 2 || preds.sizes() != target.sizes())
    throw UsageError("CosineSimilarity: expected preds and target [batch, features], got ", preds.sizes(), " and ",
                     target.sizes());
  const at::Tensor a = preds.to(at::kDouble), b = target.to(at::kDouble);
  const at::Tensor cosine = (a * b).sum(1) / (a.square().sum(1).sqrt() * b.square().sum(1).sqrt());
  if (options_.reduction == RowReduction::None) return append(values_, cosine.unsqueeze(1));
  sum(total_).add_(cosine.sum());
  sum(count_).add_(cosine.size(0));
}

at::Tensor CosineSimilarity::compute_value() const {
  if (options_.reduction == RowReduction::Sum) return sum(total_).clone();
  if (options_.reduction == RowReduction::Mean) return sum(total_) / sum(count_);
  const at::Tensor all = rows(values_);
  return all.defined() ? all.squeeze(1) : at::zeros({0}, at::TensorOptions(at::kDouble).device(device()));
}

}  // namespace levin::metrics
