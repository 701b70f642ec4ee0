#include <levin/modules/metrics/min_max_metric.h>
#include <ATen/ops/tensor.h>
#include <levin/modules/metrics/engine/single_value.h>

#include <algorithm>

namespace levin::metrics {

at::Tensor MinMaxMetric::compute_value() const {
  const at::Tensor of_metric = parts.front()->compute();
  const double value = single_value("MinMaxMetric", of_metric);
  if (max_ < value) max_ = value;
  if (min_ > value) min_ = value;
  return at::tensor({value, max_, min_}, at::kDouble).to(of_metric.device());
}

State MinMaxMetric::state_dict() const {
  State state = WrapperMetric::state_dict();
  state["min"] = min_;
  state["max"] = max_;
  return state;
}

void MinMaxMetric::load_state_dict(const State& state) {
  WrapperMetric::load_state_dict(state);
  min_ = state.at("min").to_double();
  max_ = state.at("max").to_double();
}

void MinMaxMetric::prepend_state_dict(const State& earlier) {
  WrapperMetric::prepend_state_dict(earlier);
  min_ = std::min(min_, earlier.at("min").to_double());
  max_ = std::max(max_, earlier.at("max").to_double());
}

}  // namespace levin::metrics
