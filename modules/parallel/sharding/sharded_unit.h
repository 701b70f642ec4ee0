#pragma once
#include <levin/core/ranks/process_group.h>
#include <levin/modules/parallel/ranks/pending_works.h>
#include <levin/modules/parallel/sharding/buffer_pool.h>
#include <levin/modules/parallel/sharding/find_units.h>
#include <levin/modules/parallel/sharding/sharded_block.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace levin::parallel {

/// A unit of a sharded module: its blocks, and the buffer that holds them while they are whole.
class ShardedUnit final : public WatchedMemory {
 public:
  /// `on_use` is called before an operation uses the unit, and makes it whole. `sent_as`: the dtype in which parameters
  /// of wider dtypes are gathered, so that the whole unit has their rounded values; nullopt: their own. `group` and
  /// `pool` must outlive the unit.
  ShardedUnit(const UnitParameters& parameters, ProcessGroup& group, BufferPool& pool,
              std::optional<at::ScalarType> sent_as, std::function<void()> on_use);

  /// For people: "unit net.blocks.3".
  const std::string& name() const { return name_; }
  std::deque<ShardedBlock>& blocks() { return blocks_; }
  const std::deque<ShardedBlock>& blocks() const { return blocks_; }
  size_t bytes() const { return bytes_; }

  void begin_use() override;
  void end_use(bool written) noexcept override;
  OwnPart own_part(const at::Tensor& tensor) const override;
  void own_parts_changed() override { release(); }

  /// Whether the whole unit is there, or on its way.
  bool is_present() const { return state_ != State::Away; }
  bool is_in_use() const { return uses_ > 0; }
  /// Starts to gather the unit from all ranks, unless it is present. Collective: all ranks call it.
  void begin_gather();
  /// Gathers the unit with the shards' own values, also if it is present with rounded ones. Collective: all ranks call
  /// it.
  void gather_exactly();
  /// Returns whether `begin_gather` rounds what it gathers.
  bool gathers_rounded() const;
  /// Returns whether the unit is present with the shards' own values.
  bool is_exact() const { return is_present() && (is_exact_ || !gathers_rounded()); }
  /// Returns whether the unit is present with values that `begin_gather` would round: gathered exactly, or written.
  bool is_unrounded() const { return is_present() && (is_exact_ || is_written_) && gathers_rounded(); }
  /// Waits until the unit is whole.
  void wait();
  /// Drops the whole unit, and waits for it first if it is on its way; the shards stay. `keeps_memory`: the buffer
  /// stays for the next gather.
  void release(bool keeps_memory = false);
  /// Gives the blocks memory of their own with the parameters of all ranks, for good. Collective: all ranks call it.
  void keep_whole();

 private:
  enum class State { Away, Coming, Whole };
  std::optional<at::ScalarType> narrow_dtype(const ShardedBlock& block) const;
  void begin(bool exact);
  void gather_into_blocks(bool exact);

  std::string name_;
  std::string call_;  ///< of its gathers, for errors
  ProcessGroup& group_;
  BufferPool& pool_;
  std::optional<at::ScalarType> sent_as_;
  std::function<void()> on_use_;
  std::deque<ShardedBlock> blocks_ = {};
  std::vector<size_t> offsets_ = {};  ///< of the blocks in the buffer
  size_t bytes_ = 0;
  at::Tensor buffer_ = {};
  State state_ = State::Away;
  bool is_exact_ = true;               ///< what is present, or on its way, has not been rounded
  bool is_written_ = false;            ///< an operation has written into what is present
  std::vector<at::Tensor> sent_ = {};  ///< this rank's shards in narrower dtypes, until the gather ends
  int uses_ = 0;
  PendingWorks works_ = {};
};

}  // namespace levin::parallel
