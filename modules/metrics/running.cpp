#include <levin/modules/metrics/running.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin::metrics {
namespace {

int64_t checked_window(const RunningOptions& options) {
  schema_of<RunningOptions>().check(&options, "Running");
  return options.window;
}

/// Returns the states of the batches in the window of a state, the newest at the end.
State::List batches_of(const State& state) {
  const State::List& all = state.at("parts").items();
  const int64_t used = state.at("used").to_int();
  if (used < 0 || static_cast<size_t>(used) > all.size())
    throw UsageError("Running: the state counts ", used, " batches, and has ", all.size());
  return {all.end() - used, all.end()};
}

}  // namespace

Running::Running(const std::shared_ptr<Metric>& metric, Options options)
    : Cloneable("Running", metric, checked_window(options)) {
  for (const auto& part : parts) part->reset();
}

void Running::update_inputs(at::TensorList inputs) {
  parts.front()->reset();
  parts.front()->update_all(inputs);
  std::ranges::rotate(parts, parts.begin() + 1);
  used_ = std::min(used_ + 1, parts.size());
}

std::shared_ptr<Metric> Running::joined() const {
  const size_t first = parts.size() - std::max<size_t>(used_, 1);
  const std::shared_ptr<Metric> all = parts[first]->clone();
  for (size_t i = first + 1; i < parts.size(); ++i) all->merge(*parts[i]);
  return all;
}

at::Tensor Running::compute_value() const { return of_ranks_ ? of_ranks_->compute() : joined()->compute(); }

void Running::reset() {
  WrapperMetric::reset();
  used_ = 0;
}

void Running::sync(Comm& comm) {
  Metric::sync(comm);
  of_ranks_ = joined();
  of_ranks_->sync(comm);
}

void Running::unsync() {
  Metric::unsync();
  of_ranks_.reset();
}

State Running::state_dict() const {
  State state = WrapperMetric::state_dict();
  state["used"] = static_cast<int64_t>(used_);
  return state;
}

void Running::load_state_dict(const State& state) {
  reset();
  prepend_state_dict(state);
}

void Running::prepend_state_dict(const State& earlier) {
  unsync();
  State::List batches = batches_of(earlier);
  const State::List own = batches_of(state_dict());
  batches.insert(batches.end(), own.begin(), own.end());
  used_ = std::min(batches.size(), parts.size());
  for (size_t i = 0; i < used_; ++i) parts[parts.size() - 1 - i]->load_state_dict(batches[batches.size() - 1 - i]);
}

}  // namespace levin::metrics
