#include <levin/modules/metrics/engine/row_metric.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

namespace levin::metrics {

RowMetric::RowMetric(RowReduction reduction) : reduction_(reduction) {
  if (reduction_ == RowReduction::None) {
    values_ = add_list_state("values");
  } else {
    total_ = add_state("total", {}, at::kDouble);
    count_ = add_state("count", {}, at::kLong);
  }
}

void RowMetric::count(const at::Tensor& values) {
  if (reduction_ == RowReduction::None) return append(values_, values.to(at::kDouble).unsqueeze(1));
  sum(total_).add_(values.sum(at::kDouble));
  sum(count_).add_(values.size(0));
}

at::Tensor RowMetric::compute_value() const {
  if (reduction_ == RowReduction::Sum) return sum(total_).clone();
  if (reduction_ == RowReduction::Mean) return sum(total_) / sum(count_);
  const at::Tensor all = rows(values_);
  return all.defined() ? all.squeeze(1) : at::zeros({0}, at::TensorOptions(at::kDouble).device(device()));
}

}  // namespace levin::metrics
