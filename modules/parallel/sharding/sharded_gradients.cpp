#include <levin/modules/parallel/sharding/sharded_gradients.h>
#include <ATen/ops/from_blob.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <string>
#include <utility>

namespace levin::parallel {

ShardedGradients::ShardedGradients(std::deque<ShardedUnit>& units, const Groups& groups, BufferPool& pool,
                                   bool find_unused, std::optional<at::ScalarType> sent_as, Hooks hooks)
    : groups_(groups), find_unused_(find_unused), hooks_(std::move(hooks)) {
  UnitGradients::Listener& listener = *this;
  size_t parameters = 0;
  for (ShardedUnit& unit : units) {
    units_.emplace_back(unit, groups.shards, groups.replicas, pool, sent_as, listener);
    std::vector<size_t>& of_unit = first_.emplace_back();
    for (const ShardedBlock& block : unit.blocks()) {
      of_unit.push_back(parameters);
      if (block.is_trained()) parameters += block.names().size();
    }
  }
}

void ShardedGradients::begin_backward() {
  reduces_ = false;
  for (UnitGradients& unit : units_) unit.begin_backward();
}

void ShardedGradients::begin_backward(std::vector<size_t> order) {
  begin_backward();
  reduces_ = true;
  order_ = std::move(order);
  begun_ = 0;
}

bool ShardedGradients::is_reducing() const {
  return std::any_of(units_.begin(), units_.end(), [](const auto& unit) { return unit.is_on_its_way(); });
}

void ShardedGradients::before_buffer() {
  // So that no more than one unit's buffers wait for the other ranks.
  if (reduces_) finish_reductions();
}

void ShardedGradients::completed() {
  while (reduces_ && begun_ < order_.size() && units_[order_[begun_]].is_complete()) begin_next_reduction();
}

void ShardedGradients::begin_next_reduction() {
  const size_t unit = order_[begun_++];
  if (units_[unit].is_empty()) return;
  hooks_.completed(unit);
  units_[unit].begin_reduction();
}

void ShardedGradients::finish_reductions() {
  // In the order in which they began: a rank without a loss finishes each before the next, and the sums over replicas
  // must meet.
  for (size_t i = 0; i < begun_; ++i) units_[order_[i]].finish_reduction();
  hooks_.finished();
}

void ShardedGradients::end_backward(bool had_loss) {
  if (!reduces_) return;
  if (had_loss && !find_unused_) check_complete();
  while (begun_ < order_.size()) {
    finish_reductions();
    begin_next_reduction();
  }
  finish_reductions();
  agree_on_used();
  reduces_ = false;
}

void ShardedGradients::check_complete() const {
  std::string names;
  for (const UnitGradients& unit : units_)
    for (const std::string& name : unit.missing()) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    throw UsageError("fsdp: these parameters got no gradient: ", names,
                     "; set find_unused_parameters to true, or let the loss use all parameters in each step");
}

void ShardedGradients::agree_on_used() {
  used_.clear();
  if (!find_unused_) return;
  for (const UnitGradients& unit : units_) unit.append_used(used_);
  at::Tensor flags = at::from_blob(used_.data(), {static_cast<int64_t>(used_.size())}, at::kByte);
  groups_.all.all_reduce(flags, ReduceOp::Max);
}

at::Tensor ShardedGradients::gradient(size_t unit, size_t block, const ShardPart& part) const {
  const at::Tensor& own = units_[unit].own(block);
  if (!own.defined() || (!used_.empty() && used_[first_[unit][block] + part.parameter] == 0)) return {};
  return own.narrow(0, part.in_shard, part.size);
}

void ShardedGradients::load_means(const GradientMeans& means) {
  if (means.empty()) return;
  for (UnitGradients& unit : units_) unit.load_means(means);
  agree_on_used();
}

void ShardedGradients::clear() {
  for (UnitGradients& unit : units_) unit.clear();
}

}  // namespace levin::parallel
