#include <ATen/ops/empty_strided.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/state/sharded_state.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/saved_state.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/parallel/ranks/shard.h>
#include <levin/modules/parallel/ranks/sharded_optimizer.h>

#include <map>
#include <string>
#include <utility>

namespace levin::parallel {
namespace {

/// Returns `saved` with the memory layout of a parameter.
at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& saved) {
  if (saved.strides() == parameter.strides()) return saved;
  return at::empty_strided(parameter.sizes(), parameter.strides(), saved.options()).copy_(saved);
}

/// Returns `count` consecutive parameter numbers, starting at `next`.
State numbers_from(int64_t& next, size_t count) {
  State numbers = State::list();
  for (size_t i = 0; i < count; ++i) numbers.push_back(next++);
  return numbers;
}

/// Copies a rank's part of a parameter's state into the whole state.
void join_part(const State& part, const at::Tensor& parameter, State& whole) {
  if (whole.is_none()) whole = State::dict();  // also for an optimizer that keeps nothing of it, as SGD
  for (const auto& [name, value] : part.at("values").to_dict()) {
    if (!value.is_tensor() || value.to_tensor().dim() == 0) {  // a number, equal in all parts
      whole[name] = value;
      continue;
    }
    const at::Tensor& of_part = value.to_tensor();
    if (!whole.contains(name))
      whole[name] = at::empty_strided(parameter.sizes(), parameter.strides(), of_part.options().device(at::kCPU));
    elements(whole[name].to_tensor(), part.at("begin").to_int(), of_part.numel()).copy_(of_part);
  }
}

/// Returns this rank's part of the saved state of a parameter.
State part_of(const State& whole, const at::Tensor& parameter, int64_t begin, int64_t size) {
  State part = State::dict();
  for (const auto& [name, value] : whole.to_dict()) {
    if (!value.is_tensor() || (value.to_tensor().dim() == 0 && parameter.dim() != 0)) {
      part[name] = value;
      continue;
    }
    const at::Tensor& saved = value.to_tensor();
    if (saved.sizes() != parameter.sizes())
      throw UsageError("the optimizer's state has ", to_text(name), " of shape ", saved.sizes(),
                       " for a parameter of shape ", parameter.sizes(),
                       "; give the optimizer the same parameters in the same order");
    part[name] = elements(laid_out_like(parameter, saved), begin, size);
  }
  return part;
}

}  // namespace

State ShardedOptimizer::state_dict() {
  const State of_parts = optim::optimizer_state_dict(optimizer_);
  State own = State::list();
  for (size_t i = 0; i < parts_.size(); ++i)
    if (const State* values = of_parts.at("state").find(static_cast<int64_t>(i)))
      own.push_back(State::dict({{"parameter", static_cast<int64_t>(parts_[i].parameter)},
                                 {"begin", parts_[i].place.begin},
                                 {"values", *values}}));
  std::map<int64_t, State> of_parameters;
  for (int64_t rank = 0; rank < group_.world_size(); ++rank) {
    const State of_rank = state_of_rank(own, rank, group_);  // one rank at a time, to save memory
    if (group_.rank() != 0) continue;
    for (const State& part : of_rank.items()) {
      const int64_t place = part.at("parameter").to_int();
      join_part(part, parameters_[static_cast<size_t>(place)], of_parameters[place]);
    }
  }
  if (group_.rank() != 0) return {};
  State whole = State::dict({{"state", State::dict()}, {"param_groups", groups_of_all(of_parts.at("param_groups"))}});
  for (auto& [place, values] : of_parameters) whole["state"][place] = std::move(values);
  return whole;
}

/// Returns the groups with the numbers of the whole parameters.
State ShardedOptimizer::groups_of_all(const State& groups_of_parts) const {
  State groups = groups_of_parts;
  int64_t next = 0;
  for (size_t g = 0; g < group_sizes_.size(); ++g) groups.items()[g]["params"] = numbers_from(next, group_sizes_[g]);
  return groups;
}

State ShardedOptimizer::sharded_state_dict(State& shards) {
  const State of_parts = optim::optimizer_state_dict(optimizer_);
  const std::string key = "optimizer_states/0/state";  // strategies that divide have one optimizer
  if (shards.is_dict()) shards[key] = State::dict();
  for (size_t i = 0; i < parts_.size() && shards.is_dict(); ++i) {
    const State* const values = of_parts.at("state").find(static_cast<int64_t>(i));
    if (values == nullptr) continue;
    const auto parameter = static_cast<int64_t>(parts_[i].parameter);
    for (const auto& [name, value] : values->to_dict()) {
      const bool is_sharded = value.is_tensor() && value.to_tensor().dim() > 0;
      shards[key][parameter][name] =
          is_sharded ? tensor_slice(parameters_[parts_[i].parameter], parts_[i].place.begin, value.to_tensor()) : value;
    }
  }
  return State::dict({{"state", shard_mark(key)}, {"param_groups", groups_of_all(of_parts.at("param_groups"))}});
}

void ShardedOptimizer::load_state_dict(const State& saved) {
  const State::List& groups = saved.at("param_groups").items();
  optim::detail::check_saved_groups(group_sizes_, groups);
  std::vector<const State*> of_parameters;
  for (const State& group : groups)
    for (const State& index : group.at("params").items())
      of_parameters.push_back(optim::detail::saved_values(saved, index.to_int()));
  State own = State::dict({{"state", State::dict()}, {"param_groups", State::list()}});
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (const State* whole = of_parameters[part.parameter])
      own["state"][static_cast<int64_t>(i)] =
          part_of(*whole, parameters_[part.parameter], part.place.begin, part.place.size);
  }
  int64_t next = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    State group = groups[g];
    group["params"] = numbers_from(next, optimizer_.param_groups()[g].params().size());
    own["param_groups"].push_back(std::move(group));
  }
  optim::load_optimizer_state_dict(optimizer_, own);
}

}  // namespace levin::parallel
