#include <levin/modules/metrics/metric.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/run/batch_counts.h>
#include <levin/core/system/error.h>
#include <levin/modules/metrics/engine/metric_states.h>

#include <typeinfo>
#include <utility>

namespace levin::metrics {
namespace {

/// States outlive the evaluation loop's inference mode, so they must be mutable outside of it.
struct PlainTensors {
  c10::InferenceMode no_inference_mode{false};
  at::NoGradGuard no_grad = {};
};

}  // namespace

Metric::Metric(const Metric& other) : LoggedMetric(other) { *this = other; }

Metric& Metric::operator=(const Metric& other) {
  if (this == &other) return *this;
  const PlainTensors plain;
  states_ = copy_states(other.states_);
  local_ = copy_states(other.local_);
  batch_value_ = other.batch_value_;
  device_ = other.device_;
  synced_ = other.synced_;
  return *this;
}

void Metric::update_all(at::TensorList inputs) {
  if (inputs.empty()) throw UsageError("metric: update was given no tensor");
  std::vector<at::Tensor> detached;
  for (const at::Tensor& input : inputs) {
    if (!input.defined()) throw UsageError("metric: update was given an undefined tensor");
    if (input.device() != inputs[0].device())
      throw UsageError("metric: preds are on ", inputs[0].device(), ", ",
                       &input == &inputs[1] && inputs.size() == 2 ? "target" : "another input", " on ", input.device(),
                       "; move one of them");
    detached.push_back(input.detach());
  }
  if (synced_) throw UsageError("metric: update was called between sync and unsync; call unsync() first");
  const PlainTensors plain;
  batch_value_ = at::Tensor();
  to(inputs[0].device());
  if (batch_counts()) update_inputs(detached);
}

void Metric::update_inputs(at::TensorList inputs) {
  if (inputs.size() != 2)
    throw UsageError("metric: this one takes two tensors, preds and target; update was given ", inputs.size());
  update_states(inputs[0], inputs[1]);
}

void Metric::update_states(const at::Tensor& /*preds*/, const at::Tensor& /*target*/) {
  throw UsageError("metric: its class overrides neither update_inputs nor update_states");
}

at::Tensor Metric::forward_all(at::TensorList inputs) {
  const PlainTensors plain;
  if (states_.empty()) return forward_of_wrapper(inputs);
  if (!inputs.empty() && inputs[0].defined()) to(inputs[0].device());
  std::vector<MetricState> earlier = std::exchange(states_, empty_states(states_));
  // The batch has a value even if it does not count.
  const bool counts = std::exchange(batch_counts(), true);
  const auto states_again = c10::make_scope_exit([&] {
    batch_counts() = counts;
    states_ = std::move(earlier);
  });
  update_all(inputs);
  batch_value_ = compute_value();
  if (counts) add_states(earlier, states_, device_);
  return batch_value_;
}

at::Tensor Metric::forward_of_wrapper(at::TensorList inputs) {
  const State earlier = state_dict();
  const bool counts = std::exchange(batch_counts(), true);
  const auto counts_again = c10::make_scope_exit([&] { batch_counts() = counts; });
  at::Tensor value;
  reset();
  try {
    update_all(inputs);
    value = compute_value();
  } catch (...) {
    load_state_dict(earlier);
    throw;
  }
  if (counts)
    prepend_state_dict(earlier);
  else
    load_state_dict(earlier);
  batch_value_ = value;
  return value;
}

at::Tensor Metric::compute() const {
  const PlainTensors plain;
  return compute_value();
}

void Metric::reset() {
  const PlainTensors plain;
  unsync();
  batch_value_ = at::Tensor();
  for (MetricState& state : states_) {
    state.rows.clear();
    if (!state.is_list) state.sum.zero_();
  }
}

void Metric::merge(const Metric& other) {
  if (typeid(*this) != typeid(other)) throw UsageError("merge: the metrics are of different classes");
  if (synced_) throw UsageError("metric: merge was called between sync and unsync; call unsync() first");
  const PlainTensors plain;
  if (states_.empty()) {
    const State own = state_dict();
    load_state_dict(other.state_dict());
    return prepend_state_dict(own);
  }
  // A copy, since a metric may be merged with itself.
  add_states(states_, copy_states(other.states_), device_);
}

void Metric::sync(Comm& comm) {
  if (synced_) throw UsageError("metric: sync was called twice; call unsync() first");
  const PlainTensors plain;
  local_ = std::exchange(states_, gather_states(states_, comm, device_));
  synced_ = true;
}

void Metric::unsync() {
  if (!synced_) return;
  states_ = std::move(local_);
  local_.clear();
  synced_ = false;
}

State Metric::state_dict() const {
  const PlainTensors plain;
  State state = State::dict();
  for (const MetricState& one : synced_ ? local_ : states_) {
    if (!one.is_list) {
      state[one.name] = one.sum.clone();
      continue;
    }
    state[one.name] = State::list();
    if (!one.rows.empty()) state[one.name].push_back(concatenate(one.rows));
  }
  return state;
}

void Metric::load_state_dict(const State& state) {
  const PlainTensors plain;
  unsync();
  std::vector<MetricState> loaded = empty_states(states_);
  for (MetricState& one : loaded) {
    const State& saved = state.at(one.name);
    if (one.is_list) {
      for (const State& rows : saved.items()) one.rows.push_back(rows.to_tensor().to(device_));
      continue;
    }
    const at::Tensor& values = saved.to_tensor();
    if (values.sizes() != one.sum.sizes())
      throw UsageError("metric: state ", one.name, " has shape ", values.sizes(), ", expected ", one.sum.sizes(),
                       "; it was saved by a metric with other options");
    one.sum.copy_(values);
  }
  states_ = std::move(loaded);
}

void Metric::prepend_state_dict(const State& earlier) {
  unsync();
  const std::vector<MetricState> since = states_;
  load_state_dict(earlier);
  const PlainTensors plain;
  add_states(states_, since, device_);
}

void Metric::to(c10::Device device) {
  if (device == device_) return;
  const PlainTensors plain;
  for (std::vector<MetricState>* states : {&states_, &local_})
    for (MetricState& state : *states) {
      if (!state.is_list) state.sum = state.sum.to(device);
      for (at::Tensor& rows : state.rows) rows = rows.to(device);
    }
  device_ = device;
}

size_t Metric::add_state(std::string name, at::IntArrayRef shape, at::ScalarType dtype) {
  const PlainTensors plain;
  states_.push_back({.name = std::move(name), .is_list = false, .sum = at::zeros(shape, dtype)});
  return states_.size() - 1;
}

size_t Metric::add_list_state(std::string name) {
  states_.push_back({.name = std::move(name), .is_list = true});
  return states_.size() - 1;
}

at::Tensor Metric::rows(size_t index) const { return concatenate(states_[index].rows); }

}  // namespace levin::metrics
