#include <levin/modules/parallel/sharding/sharded_unit.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>
#include <levin/modules/parallel/ranks/gather_shards.h>
#include <levin/modules/parallel/sharding/narrow_memory.h>

#include <algorithm>
#include <map>
#include <utility>

namespace levin::parallel {

ShardedUnit::ShardedUnit(const UnitParameters& parameters, ProcessGroup& group, BufferPool& pool,
                         std::optional<at::ScalarType> sent_as, std::function<void()> on_use)
    : name_(parameters.name.empty() ? "the unit of what is in no part" : "unit " + parameters.name),
      call_("all_gather of " + name_),
      group_(group),
      pool_(pool),
      sent_as_(sent_as),
      on_use_(std::move(on_use)) {
  std::map<std::pair<at::ScalarType, bool>, UnitParameters> kinds;
  for (size_t i = 0; i < parameters.parameters.size(); ++i) {
    const at::Tensor& parameter = parameters.parameters[i];
    UnitParameters& kind = kinds[{parameter.scalar_type(), parameter.requires_grad()}];
    kind.names.push_back(parameters.names[i]);
    kind.parameters.push_back(parameter);
  }
  for (auto& [key, kind] : kinds) {
    blocks_.emplace_back(std::move(kind.names), kind.parameters, *this, group.rank(), group.world_size());
    offsets_.push_back(bytes_);
    bytes_ += aligned(blocks_.back().bytes());
  }
}

void ShardedUnit::begin_use() {
  on_use_();
  ++uses_;
}

void ShardedUnit::end_use(bool written) noexcept {
  --uses_;
  if (!written) return;
  is_written_ = true;
  const at::NoGradGuard no_grad;
  for (ShardedBlock& block : blocks_) {
    at::Tensor& own = block.memory().own;
    const at::Tensor now = block.shard_of_rank(block.whole());
    // What the operation left alone keeps the values that the gather rounded.
    const auto dtype = is_exact_ ? std::nullopt : narrow_dtype(block);
    own.copy_(dtype ? at::where(now == own.to(*dtype).to(own.scalar_type()), own, now) : now);
  }
}

OwnPart ShardedUnit::own_part(const at::Tensor& tensor) const {
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& one) { return one.holds(tensor); });
  return block != blocks_.end() ? block->own_part(tensor) : OwnPart();
}

std::optional<at::ScalarType> ShardedUnit::narrow_dtype(const ShardedBlock& block) const {
  return narrower(block.memory().own.scalar_type(), sent_as_);
}

bool ShardedUnit::gathers_rounded() const {
  return std::any_of(blocks_.begin(), blocks_.end(),
                     [&](const auto& block) { return narrow_dtype(block).has_value(); });
}

void ShardedUnit::gather_into_blocks(bool exact) {
  const UnwatchedScope unwatched;
  const at::NoGradGuard no_grad;
  is_exact_ = exact;
  is_written_ = false;
  group_.guarded(call_.c_str(), [&] {
    for (ShardedBlock& block : blocks_) {
      const auto dtype = exact ? std::nullopt : narrow_dtype(block);
      if (!dtype) {
        parallel::begin_gather(group_, block.whole(), block.memory().own, works_);
        continue;
      }
      parallel::begin_gather(group_, narrow_end(block.whole(), *dtype),
                             sent_.emplace_back(block.memory().own.to(*dtype)), works_);
    }
  });
}

void ShardedUnit::begin_gather() { begin(/*exact=*/false); }

void ShardedUnit::gather_exactly() {
  wait();
  if (gathers_rounded()) state_ = State::Away;
  begin(/*exact=*/true);
  wait();
}

void ShardedUnit::begin(bool exact) {
  if (state_ != State::Away) return;
  if (!buffer_.defined()) buffer_ = pool_.take(bytes_);
  auto* const memory = static_cast<char*>(buffer_.mutable_data_ptr());
  for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i].set_data(memory + offsets_[i]);
  gather_into_blocks(exact);
  state_ = State::Coming;
}

void ShardedUnit::wait() {
  if (state_ != State::Coming) return;
  group_.guarded(call_.c_str(), [&] { works_.wait(); });
  sent_.clear();
  if (!is_exact_) {
    const UnwatchedScope unwatched;
    const at::NoGradGuard no_grad;
    for (ShardedBlock& block : blocks_)
      if (const auto dtype = narrow_dtype(block)) widen(block.whole(), *dtype);
  }
  state_ = State::Whole;
}

void ShardedUnit::release(bool keeps_memory) {
  wait();
  state_ = State::Away;
  if (keeps_memory || !buffer_.defined()) return;
  for (ShardedBlock& block : blocks_) block.set_data(nullptr);
  pool_.give_back(std::exchange(buffer_, {}));
}

void ShardedUnit::keep_whole() {
  release();
  for (ShardedBlock& block : blocks_) block.keep_whole();
  gather_into_blocks(/*exact=*/true);
  state_ = State::Coming;
  wait();
}

}  // namespace levin::parallel
