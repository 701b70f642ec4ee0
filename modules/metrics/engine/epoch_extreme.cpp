#include <levin/modules/metrics/engine/epoch_extreme.h>
#include <ATen/ops/tensor.h>
#include <levin/core/ranks/comm.h>
#include <levin/modules/metrics/engine/single_value.h>

#include <utility>

namespace levin::metrics {

double EpochExtreme::better(double a, double b) const { return (is_max_ ? b > a : b < a) ? b : a; }

void EpochExtreme::take(double value) { extreme_ = better(extreme_, value); }

void EpochExtreme::update_inputs(at::TensorList inputs) {
  computed_.reset();
  parts.front()->update_all(inputs);
}

at::Tensor EpochExtreme::compute_value() const {
  const at::Tensor of_epoch = parts.front()->compute();
  computed_ = single_value("MinMaxMetric", of_epoch);
  return at::tensor(better(extreme_, *computed_), at::kDouble).to(of_epoch.device());
}

void EpochExtreme::reset() {
  WrapperMetric::reset();
  if (const std::optional<double> value = std::exchange(computed_, std::nullopt)) take(*value);
}

void EpochExtreme::sync(Comm& comm) {
  WrapperMetric::sync(comm);
  // A rank without samples has not seen the end of each epoch.
  at::Tensor of_ranks = at::tensor(extreme_, at::kDouble).to(device());
  comm.all_reduce(of_ranks, is_max_ ? ReduceOp::Max : ReduceOp::Min);
  extreme_ = of_ranks.item<double>();
}

State EpochExtreme::state_dict() const {
  State state = WrapperMetric::state_dict();
  state["extreme"] = extreme_;
  return state;
}

void EpochExtreme::load_state_dict(const State& state) {
  WrapperMetric::load_state_dict(state);
  extreme_ = state.at("extreme").to_double();
}

void EpochExtreme::prepend_state_dict(const State& earlier) {
  WrapperMetric::prepend_state_dict(earlier);
  take(earlier.at("extreme").to_double());
}

}  // namespace levin::metrics
