#pragma once
#include <levin/modules/parallel/sharding/gradient_means.h>
#include <levin/modules/parallel/sharding/unit_gradients.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace levin::parallel {

/// The gradients of all units of a sharded module. In the backward that ends a window, the reduction of a unit begins
/// as soon as all its gradients have been computed, while backward continues with the units before it. All ranks reduce
/// the units in the same order.
class ShardedGradients final : private UnitGradients::Listener {
 public:
  /// The ranks whose gradients are averaged: a mean over the shards' group, then over those with the same shards.
  struct Groups {
    ProcessGroup& shards;
    ProcessGroup* replicas;  ///< null if there are none
    ProcessGroup& all;
  };
  /// What the units' memory is told.
  struct Hooks {
    std::function<void(size_t unit)> completed;  ///< before a unit is reduced
    std::function<void()> finished;              ///< when all reductions that had begun have ended
  };
  /// `find_unused`: parameters may get no gradient in a window, on some or all ranks. `sent_as`: as in UnitGradients.
  /// All must outlive the object.
  ShardedGradients(std::deque<ShardedUnit>& units, const Groups& groups, BufferPool& pool, bool find_unused,
                   std::optional<at::ScalarType> sent_as, Hooks hooks);

  /// Begins a backward of a window, which is not its last.
  void begin_backward();
  /// Begins the last backward of a window, which reduces the units in this order; it has each unit once.
  void begin_backward(std::vector<size_t> order);
  /// Ends the last backward: reduces what is left. `had_loss`: this rank had a backward. Throws levin::UsageError with
  /// the names of parameters that got no gradient, unless there may be some. Collective: all ranks call it.
  void end_backward(bool had_loss);
  bool is_reducing() const;

  /// As ShardedMemory::gradient, of a block of a unit.
  at::Tensor gradient(size_t unit, size_t block, const ShardPart& part) const;
  /// Restores the means of a window.
  void load_means(const GradientMeans& means);
  void clear();

 private:
  void before_buffer() override;
  void completed() override;
  /// Begins the reduction of the next unit of `order_`.
  void begin_next_reduction();
  void finish_reductions();
  void check_complete() const;
  void agree_on_used();

  Groups groups_;
  bool find_unused_;
  Hooks hooks_;
  std::deque<UnitGradients> units_ = {};
  bool reduces_ = false;  ///< the present backward
  std::vector<size_t> order_ = {};
  size_t begun_ = 0;                             ///< reductions of `order_` that have begun
  std::vector<std::vector<size_t>> first_ = {};  ///< by unit and block: the place of its first parameter in `used_`
  std::vector<uint8_t> used_ = {};  ///< by trained parameter: some rank has a gradient; empty: all are used
};

}  // namespace levin::parallel
