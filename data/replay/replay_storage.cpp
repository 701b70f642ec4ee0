#include <levin/data/replay/replay_storage.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>
#include <levin/data/rng.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace levin::data {
namespace {

constexpr double kSmallestPriority = 1e-6;

const ReplayOptions& checked(const ReplayOptions& options) {
  const auto refuse = [](const char* name, auto value, const char* limits) {
    throw UsageError("ReplayOptions::", name, ": ", value, "; it must be ", limits);
  };
  if (options.capacity < 1) refuse("capacity", options.capacity, "at least 1");
  if (options.n_step < 1 || options.n_step > options.capacity) refuse("n_step", options.n_step, "in [1, capacity]");
  if (!(options.gamma >= 0 && options.gamma <= 1)) refuse("gamma", options.gamma, "in [0, 1]");
  if (!(options.alpha >= 0) || std::isinf(options.alpha)) refuse("alpha", options.alpha, "a number from 0");
  if (!(options.beta >= 0 && options.beta <= 1)) refuse("beta", options.beta, "in [0, 1]");
  return options;
}

at::Tensor on_cpu(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.detach().to(at::kCPU, dtype).contiguous();
}

at::Tensor int64_tensor(const std::vector<int64_t>& values) { return at::tensor(values, at::TensorOptions(at::kLong)); }

std::vector<int64_t> int64_values(const at::Tensor& tensor) {
  const at::Tensor values = on_cpu(tensor, at::kLong);
  return {values.const_data_ptr<int64_t>(), values.const_data_ptr<int64_t>() + values.numel()};
}

/// Returns the rows' only values. Throws if a row has more.
at::Tensor values_of_rows(const at::Tensor& tensor, at::ScalarType dtype, const char* name) {
  if (tensor.dim() > 0 && tensor.numel() != tensor.size(0))
    throw UsageError("ReplayBuffer: \"", name, "\" has the shape ", tensor.sizes(),
                     "; n-step returns need one value in each row");
  return on_cpu(tensor, dtype);
}

}  // namespace

ReplayStorage::ReplayStorage(ReplayOptions options, std::vector<std::string> names)
    : options_(checked(options)),
      store_("ReplayBuffer", {options.capacity}, options.device, std::move(names)),
      seed_(options.seed),
      beta_(options.beta) {
  if (options_.prioritized) priorities_.emplace(options_.capacity);
  if (options_.n_step > 1) {
    follower_.assign(static_cast<size_t>(options_.capacity), -1);
    rewards_.assign(static_cast<size_t>(options_.capacity), 0);
  }
}

void ReplayStorage::find_return_fields() {
  if (return_fields_ || options_.n_step == 1) return;
  ReturnFields fields;
  fields.reward = static_cast<int64_t>(store_.at("reward", "n_step"));
  fields.terminated = static_cast<int64_t>(store_.at("terminated", "n_step"));
  fields.truncated = store_.find("truncated");
  for (const std::string& name : store_.names())
    fields.is_of_last_step.push_back(name == "terminated" || name == "truncated" || name.starts_with("next_"));
  return_fields_ = std::move(fields);
}

void ReplayStorage::add(const FieldList& transitions, int64_t first_stream) {
  const PlainTensors plain;
  const std::lock_guard lock(mutex_);
  const int64_t rows = store_.take(transitions);
  if (first_stream < 0) throw UsageError("ReplayBuffer::add: stream ", first_stream, "; streams count from 0");
  if (rows > options_.capacity)
    throw UsageError("ReplayBuffer::add: ", rows, " transitions at once, the capacity is ", options_.capacity);
  find_return_fields();
  if (options_.n_step > 1) link(transitions, first_stream);
  const int64_t begin = row_of(added_), until_end = std::min(rows, options_.capacity - begin);
  for (size_t field = 0; field < store_.count(); ++field) {
    const at::Tensor& from = transitions.tensors[field];
    const at::Tensor& to = store_.writable(field);
    to.narrow(0, begin, until_end).copy_(from.narrow(0, 0, until_end));
    if (until_end < rows) to.narrow(0, 0, rows - until_end).copy_(from.narrow(0, until_end, rows - until_end));
  }
  if (priorities_)
    for (int64_t i = 0; i < rows; ++i)
      priorities_->set(row_of(added_ + i), std::pow(largest_priority_, options_.alpha));
  added_ += rows;
}

void ReplayStorage::link(const FieldList& transitions, int64_t first_stream) {
  const auto tensor = [&](int64_t field) -> const at::Tensor& {
    return transitions.tensors[static_cast<size_t>(field)];
  };
  const at::Tensor rewards = values_of_rows(tensor(return_fields_->reward), at::kDouble, "reward");
  at::Tensor ends = values_of_rows(tensor(return_fields_->terminated), at::kBool, "terminated");
  if (return_fields_->truncated >= 0)
    ends = ends.logical_or(values_of_rows(tensor(return_fields_->truncated), at::kBool, "truncated").view_as(ends));
  const int64_t rows = rewards.numel();
  if (static_cast<int64_t>(newest_.size()) < first_stream + rows)
    newest_.resize(static_cast<size_t>(first_stream + rows), -1);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t number = added_ + i, row = row_of(number);
    int64_t& newest = newest_[static_cast<size_t>(first_stream + i)];
    // The transition before it may have been replaced, by one of this batch as well.
    if (newest >= 0 && newest > number - options_.capacity) follower_[static_cast<size_t>(row_of(newest))] = number;
    follower_[static_cast<size_t>(row)] = -1;
    rewards_[static_cast<size_t>(row)] = rewards.const_data_ptr<double>()[i];
    newest = ends.const_data_ptr<bool>()[i] ? -1 : number;
  }
}

void ReplayStorage::draw(at::Tensor& numbers, at::Tensor& weights) {
  const int64_t count = numbers.numel();
  auto* const number = numbers.mutable_data_ptr<int64_t>();
  Rng rng(static_cast<uint64_t>(seed_), /*epoch=*/0, draws_++);
  if (!priorities_) {
    for (int64_t i = 0; i < count; ++i) number[i] = oldest() + rng.randint(0, kept());
    return;
  }
  // One from each of `count` equal parts of the sum: each transition is as probable as by independent draws.
  const double part = priorities_->sum() / static_cast<double>(count), smallest = priorities_->smallest();
  auto* const weight = weights.mutable_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = priorities_->find((static_cast<double>(i) + rng.uniform()) * part);
    // (N P)^-beta, divided by the largest weight of all transitions; N and the sum cancel out.
    weight[i] = static_cast<float>(std::pow((*priorities_)[row] / smallest, -beta_));
    const int64_t before = oldest() - oldest() % options_.capacity + row;
    number[i] = before < oldest() ? before + options_.capacity : before;
  }
}

void ReplayStorage::take_returns(const at::Tensor& numbers, DrawnTransitions& drawn) const {
  const int64_t count = numbers.numel();
  const at::Tensor last_rows = at::empty({count}, at::TensorOptions(at::kLong));
  const at::Tensor returns = at::empty({count}, at::TensorOptions(at::kDouble));
  const at::Tensor discounts = at::empty({count}, at::TensorOptions(at::kFloat));
  for (int64_t i = 0; i < count; ++i) {
    auto row = static_cast<size_t>(row_of(numbers.const_data_ptr<int64_t>()[i]));
    double sum = rewards_[row], discount = options_.gamma;
    for (int64_t step = 1; step < options_.n_step && follower_[row] >= 0; ++step) {
      row = static_cast<size_t>(row_of(follower_[row]));
      sum += discount * rewards_[row];
      discount *= options_.gamma;
    }
    last_rows.mutable_data_ptr<int64_t>()[i] = static_cast<int64_t>(row);
    returns.mutable_data_ptr<double>()[i] = sum;
    discounts.mutable_data_ptr<float>()[i] = static_cast<float>(discount);
  }
  const at::Tensor last = last_rows.to(store_.device());
  for (size_t field = 0; field < store_.count(); ++field)
    if (return_fields_->is_of_last_step[field]) drawn.fields.tensors[field] = store_[field].index_select(0, last);
  const auto reward = static_cast<size_t>(return_fields_->reward);
  at::Tensor& rewards = drawn.fields.tensors[reward];
  std::vector<int64_t> sizes = store_[reward].sizes().vec();
  sizes[0] = count;
  rewards = returns.to(store_.device(), store_[reward].scalar_type()).view(sizes);
  drawn.discounts = discounts.to(store_.device());
}

DrawnTransitions ReplayStorage::sample(int64_t count) {
  const PlainTensors plain;
  const std::lock_guard lock(mutex_);
  if (count < 1) throw UsageError("ReplayBuffer::sample: ", count, " transitions; ask for at least 1");
  if (added_ == 0) throw UsageError("ReplayBuffer::sample: the buffer is empty; add transitions first");
  const at::Tensor ones = at::ones({count}, at::TensorOptions(at::kFloat));
  at::Tensor numbers = at::empty({count}, at::TensorOptions(at::kLong)), weights = ones;
  draw(numbers, weights);
  DrawnTransitions drawn{
      .fields = {.names = store_.names()}, .indices = numbers, .weights = weights.to(store_.device())};
  const at::Tensor rows = numbers.remainder(options_.capacity).to(store_.device());
  for (size_t field = 0; field < store_.count(); ++field) {
    const bool is_replaced = return_fields_ && (return_fields_->is_of_last_step[field] ||
                                                static_cast<int64_t>(field) == return_fields_->reward);
    drawn.fields.tensors.push_back(is_replaced ? at::Tensor() : store_[field].index_select(0, rows));
  }
  if (return_fields_)
    take_returns(numbers, drawn);
  else
    drawn.discounts = at::full({count}, options_.gamma, at::TensorOptions(at::kFloat).device(store_.device()));
  return drawn;
}

void ReplayStorage::update_priorities(const at::Tensor& indices, const at::Tensor& priorities) {
  if (!priorities_)
    throw UsageError("ReplayBuffer::update_priorities: this buffer draws all alike; set ReplayOptions::prioritized");
  if (indices.numel() != priorities.numel())
    throw UsageError("ReplayBuffer::update_priorities: ", indices.numel(), " indices and ", priorities.numel(),
                     " priorities; give one priority for each index");
  const at::Tensor numbers = on_cpu(indices, at::kLong), values = on_cpu(priorities, at::kDouble);
  const auto* const value = values.const_data_ptr<double>();
  const std::lock_guard lock(mutex_);
  for (int64_t i = 0; i < values.numel(); ++i) {
    if (!(value[i] >= 0) || std::isinf(value[i]))
      throw UsageError("ReplayBuffer::update_priorities: priority ", i, " is ", value[i],
                       "; priorities are finite and not negative, such as the absolute TD error");
    if (const int64_t number = numbers.const_data_ptr<int64_t>()[i]; number < 0 || number >= added_)
      throw UsageError("ReplayBuffer::update_priorities: there is no transition ", number, "; ", added_, " were added");
  }
  for (int64_t i = 0; i < values.numel(); ++i) {
    const int64_t number = numbers.const_data_ptr<int64_t>()[i];
    if (!is_kept(number)) continue;
    const double priority = value[i] + kSmallestPriority;
    largest_priority_ = std::max(largest_priority_, priority);
    priorities_->set(row_of(number), std::pow(priority, options_.alpha));
  }
}

void ReplayStorage::set_beta(double beta) {
  if (!(beta >= 0 && beta <= 1)) throw UsageError("ReplayBuffer::set_beta: ", beta, "; it must be in [0, 1]");
  const std::lock_guard lock(mutex_);
  beta_ = beta;
}

int64_t ReplayStorage::size() const {
  const std::lock_guard lock(mutex_);
  return kept();
}

int64_t ReplayStorage::added() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

State ReplayStorage::state_dict() const {
  const PlainTensors plain;
  const std::lock_guard lock(mutex_);
  State state = State::dict({{"capacity", options_.capacity},
                             {"n_step", options_.n_step},
                             {"prioritized", options_.prioritized},
                             {"added", added_},
                             {"seed", seed_},
                             {"draws", draws_},
                             {"fields", store_.state_dict(kept())}});
  if (options_.n_step > 1) {
    state["followers"] = int64_tensor({follower_.begin(), follower_.begin() + kept()});
    state["newest"] = int64_tensor(newest_);
  }
  if (priorities_) {
    state["priorities"] = priorities_->weights(kept());
    state["largest_priority"] = largest_priority_;
    state["beta"] = beta_;
  }
  return state;
}

void ReplayStorage::load_state_dict(const State& state) {
  const PlainTensors plain;
  const std::lock_guard lock(mutex_);
  if (const int64_t saved = state.at("capacity").to_int(); saved != options_.capacity)
    throw UsageError("ReplayBuffer: the saved buffer has the capacity ", saved, ", this one ", options_.capacity,
                     "; give both the same capacity");
  if (const int64_t saved = state.at("n_step").to_int(); saved != options_.n_step)
    throw UsageError("ReplayBuffer: the saved buffer has n_step ", saved, ", this one ", options_.n_step,
                     "; give both the same n_step");
  if (state.at("prioritized").to_bool() != options_.prioritized)
    throw UsageError("ReplayBuffer: only one of the saved buffer and this one is prioritized; give both the same");
  const int64_t added = state.at("added").to_int(), rows = std::min(added, options_.capacity);
  store_.load_state_dict(state.at("fields"), rows);
  return_fields_.reset();
  if (store_.is_allocated()) find_return_fields();
  if (options_.n_step > 1) {
    const std::vector<int64_t> followers = int64_values(state.at("followers").to_tensor());
    std::ranges::fill(follower_, -1);
    std::ranges::copy(followers, follower_.begin());
    newest_ = int64_values(state.at("newest").to_tensor());
    if (rows > 0) {
      const at::Tensor rewards =
          on_cpu(store_[static_cast<size_t>(return_fields_->reward)].narrow(0, 0, rows), at::kDouble);
      std::copy_n(rewards.const_data_ptr<double>(), rows, rewards_.begin());
    }
  }
  if (priorities_) {
    priorities_->set_weights(state.at("priorities").to_tensor());
    largest_priority_ = state.at("largest_priority").to_double();
    beta_ = state.at("beta").to_double();
  }
  added_ = added;
  seed_ = state.at("seed").to_int();
  draws_ = state.at("draws").to_int();
}

}  // namespace levin::data
