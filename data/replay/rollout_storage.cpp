#include <levin/data/replay/rollout_storage.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/rng.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace levin::data {
namespace {

const RolloutOptions& checked(const RolloutOptions& options) {
  const auto refuse = [](const char* name, auto value, const char* limits) {
    throw UsageError("RolloutOptions::", name, ": ", value, "; it must be ", limits);
  };
  for (const auto& [name, value] : {std::pair("steps", options.steps), std::pair("environments", options.environments),
                                    std::pair("batch_size", options.batch_size), std::pair("passes", options.passes)})
    if (value < 1) refuse(name, value, "at least 1");
  if (!(options.gamma >= 0 && options.gamma <= 1)) refuse("gamma", options.gamma, "in [0, 1]");
  if (!(options.gae_lambda >= 0 && options.gae_lambda <= 1)) refuse("gae_lambda", options.gae_lambda, "in [0, 1]");
  return options;
}

/// Gives `values` mean 0 and standard deviation 1.
void normalize(double* values, int64_t count) {
  const double mean = std::accumulate(values, values + count, 0.0) / static_cast<double>(count);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(count));
  for (int64_t i = 0; i < count; ++i) values[i] = (values[i] - mean) / (deviation + 1e-8);
}

}  // namespace

RolloutStorage::RolloutStorage(RolloutOptions options, std::vector<std::string> names)
    : options_(checked(options)),
      store_("RolloutBuffer", {options.steps, options.environments}, options.device, std::move(names)),
      filled_(static_cast<size_t>(options.environments), 0),
      seed_(options.seed) {}

void RolloutStorage::add(const FieldList& steps, int64_t first_environment) {
  const PlainTensors plain;
  const std::lock_guard lock(mutex_);
  if (is_ready_)
    throw UsageError(
        "RolloutBuffer::add: minibatches of the last rollout are left; take them by next() before new steps");
  const int64_t rows = store_.take(steps);
  if (rows == 0) return;
  if (first_environment < 0 || first_environment + rows > options_.environments)
    throw UsageError("RolloutBuffer::add: steps of the environments ", first_environment, " to ",
                     first_environment + rows - 1, ", the buffer has ", options_.environments);
  const auto first = filled_.begin() + first_environment;
  const int64_t step = *first;
  if (std::any_of(first, first + rows, [&](int64_t filled) { return filled != step; }))
    throw UsageError("RolloutBuffer::add: the environments of one batch stand at different steps; add them one by one");
  if (step == options_.steps)
    throw UsageError("RolloutBuffer::add: environment ", first_environment, " has all of its ", options_.steps,
                     " steps; call finish() once the others have theirs");
  for (size_t field = 0; field < store_.count(); ++field)
    store_.writable(field).select(0, step).narrow(0, first_environment, rows).copy_(steps.tensors[field]);
  std::for_each(first, first + rows, [](int64_t& filled) { ++filled; });
}

bool RolloutStorage::has_all_steps() const {
  return std::ranges::all_of(filled_, [&](int64_t filled) { return filled == options_.steps; });
}

bool RolloutStorage::is_full() const {
  const std::lock_guard lock(mutex_);
  return has_all_steps();
}

bool RolloutStorage::is_ready() const {
  const std::lock_guard lock(mutex_);
  return is_ready_;
}

at::Tensor RolloutStorage::values(const char* name, bool is_needed) const {
  if (!is_needed && store_.find(name) < 0) return {};
  const at::Tensor& field = store_[store_.at(name, "finish")];
  if (field.numel() != rows())
    throw UsageError("RolloutBuffer: \"", name, "\" has the row shape ", field.sizes().slice(2),
                     "; advantages need one value in each row");
  return field.to(at::kCPU, at::kDouble).contiguous();
}

void RolloutStorage::finish(const at::Tensor& last_values) {
  const PlainTensors plain;
  const std::lock_guard lock(mutex_);
  if (is_ready_) throw UsageError("RolloutBuffer::finish: the rollout is finished already");
  for (size_t i = 0; i < filled_.size(); ++i)
    if (filled_[i] < options_.steps)
      throw UsageError("RolloutBuffer::finish: environment ", i, " has ", filled_[i], " of ", options_.steps,
                       " steps; add the others first");
  if (!last_values.defined() || last_values.numel() != options_.environments)
    throw UsageError("RolloutBuffer::finish: last_values has ", last_values.defined() ? last_values.numel() : 0,
                     " values; give one for each of the ", options_.environments, " environments");
  const at::Tensor rewards = values("reward", true), estimates = values("value", true);
  const at::Tensor terminated = values("terminated", true), truncated = values("truncated", false);
  const at::Tensor final_values = values("final_value", truncated.defined());
  const at::Tensor last = last_values.detach().to(at::kCPU, at::kDouble).contiguous();
  at::Tensor advantages = at::empty({rows()}, at::TensorOptions(at::kDouble)), returns = at::empty_like(advantages);
  auto *const advantage = advantages.mutable_data_ptr<double>(), *const result = returns.mutable_data_ptr<double>();
  const auto *const reward = rewards.const_data_ptr<double>(), *const value = estimates.const_data_ptr<double>();
  for (int64_t environment = 0; environment < options_.environments; ++environment) {
    double next_value = last.const_data_ptr<double>()[environment], following = 0;
    for (int64_t i = rows() - options_.environments + environment; i >= 0; i -= options_.environments) {
      const bool ends = terminated.const_data_ptr<double>()[i] != 0;
      const bool is_cut = !ends && truncated.defined() && truncated.const_data_ptr<double>()[i] != 0;
      if (ends || is_cut) following = 0;
      if (ends) next_value = 0;
      if (is_cut) next_value = final_values.const_data_ptr<double>()[i];
      following = reward[i] + options_.gamma * next_value - value[i] + options_.gamma * options_.gae_lambda * following;
      advantage[i] = following;
      result[i] = following + value[i];
      next_value = value[i];
    }
  }
  if (options_.normalize_advantages) normalize(advantage, rows());
  advantages_ = advantages.to(store_.device(), at::kFloat);
  returns_ = returns.to(store_.device(), at::kFloat);
  is_ready_ = true;
  pass_ = position_ = 0;
  shuffle();
}

void RolloutStorage::shuffle() {
  at::Tensor order = at::empty({rows()}, at::TensorOptions(at::kLong));
  auto* const index = order.mutable_data_ptr<int64_t>();
  std::iota(index, index + rows(), 0);
  Rng rng(static_cast<uint64_t>(seed_), /*epoch=*/0, orders_++);
  for (int64_t i = rows() - 1; i > 0; --i) std::swap(index[i], index[rng.randint(0, i + 1)]);
  order_ = order.to(store_.device());
}

DrawnSteps RolloutStorage::next() {
  const PlainTensors plain;
  const std::lock_guard lock(mutex_);
  if (!is_ready_)
    throw UsageError("RolloutBuffer::next: no minibatch is left; add a rollout's steps and call finish()");
  const int64_t count = std::min(options_.batch_size, rows() - position_);
  const at::Tensor drawn = order_.narrow(0, position_, count);
  DrawnSteps steps{.fields = {.names = store_.names()}};
  for (size_t field = 0; field < store_.count(); ++field)
    steps.fields.tensors.push_back(store_[field].flatten(0, 1).index_select(0, drawn));
  steps.advantages = advantages_.index_select(0, drawn);
  steps.returns = returns_.index_select(0, drawn);
  position_ += count;
  if (position_ < rows()) return steps;
  position_ = 0;
  if (++pass_ < options_.passes) {
    shuffle();
  } else {
    is_ready_ = false;
    std::ranges::fill(filled_, 0);
  }
  return steps;
}

State RolloutStorage::state_dict() const {
  const PlainTensors plain;
  const std::lock_guard lock(mutex_);
  State state = State::dict({{"steps", options_.steps},
                             {"environments", options_.environments},
                             {"seed", seed_},
                             {"orders", orders_},
                             {"filled", at::tensor(filled_, at::TensorOptions(at::kLong))},
                             {"fields", store_.state_dict(options_.steps)}});
  if (is_ready_) {
    state["pass"] = pass_;
    state["position"] = position_;
    state["order"] = order_;
    state["advantages"] = advantages_;
    state["returns"] = returns_;
  }
  return state;
}

void RolloutStorage::load_state_dict(const State& state) {
  const PlainTensors plain;
  const std::lock_guard lock(mutex_);
  const int64_t steps = state.at("steps").to_int(), environments = state.at("environments").to_int();
  if (steps != options_.steps || environments != options_.environments)
    throw UsageError("RolloutBuffer: the saved buffer has ", steps, " steps of ", environments,
                     " environments, this one ", options_.steps, " of ", options_.environments, "; give both the same");
  store_.load_state_dict(state.at("fields"), options_.steps);
  const at::Tensor filled = state.at("filled").to_tensor().contiguous();
  std::copy_n(filled.const_data_ptr<int64_t>(), options_.environments, filled_.begin());
  seed_ = state.at("seed").to_int();
  orders_ = state.at("orders").to_int();
  is_ready_ = state.contains("order");
  if (!is_ready_) return;
  pass_ = state.at("pass").to_int();
  position_ = state.at("position").to_int();
  order_ = state.at("order").to_tensor().to(store_.device()).clone();
  advantages_ = state.at("advantages").to_tensor().to(store_.device()).clone();
  returns_ = state.at("returns").to_tensor().to(store_.device()).clone();
}

}  // namespace levin::data
