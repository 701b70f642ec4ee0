#pragma once
#include <levin/core/state/state.h>
#include <levin/modules/parallel/ranks/sharded_memory.h>
#include <levin/modules/parallel/sharding/sharded_unit.h>
#include <levin/modules/parallel/sharding/unit_order.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::parallel {

class ShardedGradients;

struct ShardingOptions {
  /// Whole parameters are gathered once in a step and kept until its end, on every rank: only gradients and the
  /// optimizer's state are divided (ZeRO-2). Otherwise parameters are divided too (ZeRO-3).
  bool keep_parameters = false;
  /// In some steps some parameters get no gradient, on some or all ranks.
  bool find_unused_parameters = false;
  /// The number of consecutive ranks that divide the parameters among each other. Each further group of this many ranks
  /// holds another copy of the module. 0: all ranks form one group. It must divide the number of ranks.
  int64_t hybrid_shard = 0;
  /// Gradients are reduced in each batch of a window, and a rank keeps its part of their sum alone. Otherwise they are
  /// reduced in the last one, and each rank keeps whole gradients until then.
  bool reduce_each_batch = false;
  /// The 16-bit dtype in which parameters are gathered; forward and backward then see their rounded values, and the
  /// optimizer the exact ones. nullopt: their own dtype.
  std::optional<at::ScalarType> gather_dtype = {};
  /// The 16-bit dtype in which gradients are sent. nullopt: their own dtype. Where the backend has no reduce-scatter
  /// (Gloo), they are summed in their own dtype.
  std::optional<at::ScalarType> reduce_dtype = {};
};

/// Returns whether a unit is so small beside the largest one that it stays whole during a step. Sizes are in bytes.
template <class Bytes>
bool is_small_unit(Bytes bytes, Bytes largest) {
  return bytes * 8 <= largest;
}

/// A module whose parameters, gradients and optimizer's state are divided among the ranks. The module's own classes
/// need not know of it: in a WatchScope, an operation that uses a parameter finds it whole.
///
///     levin::parallel::ShardedModule sharded(*net, group);
///     levin::optim::Adam adam(net->parameters());
///     levin::parallel::ShardedOptimizer optimizer(adam, sharded, sharded.shard_group(), "fsdp");
///     const levin::parallel::WatchScope watched;
///     for (...) {
///       sharded.zero_grad();
///       optimizer.zero_grad();
///       sharded.begin_pass(ShardedModule::Pass::Training);
///       sharded.backward(loss(net(input), target));
///       optimizer.take_gradients();
///       optimizer.step();
///     }
///
/// The parameters are divided into units (find_units). A unit is gathered from all ranks right before the first
/// operation that uses it, in forward and in backward; the next one, by the order of the pass before, is gathered
/// meanwhile; and the memory of those before is given back. All ranks use the units in the same order.
///
/// Source: Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020 (stages 2 and
/// 3), https://arxiv.org/abs/1910.02054; Zhao et al., PyTorch FSDP, 2023, https://arxiv.org/abs/2304.11277
class ShardedModule final : public ShardedMemory {
 public:
  enum class Pass { Training, Evaluation };

  /// The parameters must be the same on all ranks (synchronize_module). `module` and `group` must outlive the object.
  /// Collective: all ranks call it.
  ShardedModule(torch::nn::Module& module, ProcessGroup& group, ShardingOptions options = {});
  /// Unless `restore` was called, the parameters have no memory afterwards.
  ~ShardedModule() override;

  /// Returns the ranks among which this rank's parameters are divided.
  ProcessGroup& shard_group() const { return *shards_; }
  /// Returns the units that the last training batch used, by their places in find_units, where they were not still
  /// whole.
  const std::vector<size_t>& uses() const { return training_.units(); }
  /// Begins the forward of a batch, in which operations see parameters rounded to `gather_dtype`.
  void begin_pass(Pass pass);
  /// Ends the forward and backward of a batch: until the next pass operations see exact parameters.
  void end_pass() { in_pass_ = false; }
  /// Adds the gradients of `loss` to the window's. With `sync`, in the window's last batch, averages the window's over
  /// all ranks; with reduce_each_batch, averages those of each batch. Collective: all ranks call it, or
  /// `backward_without_loss`, in each batch. Throws levin::UsageError if the ranks have used units in different orders.
  void backward(const at::Tensor& loss, bool sync = true);
  void backward_without_loss(bool sync = true);
  /// Begins and ends what `backward` does, for callers that run the backward in between.
  void begin_backward(bool has_loss, bool sync = true);
  void end_backward(bool has_loss);
  void zero_grad();
  /// Returns the means of the gradients that were reduced since zero_grad: this rank's parts, by the parameters' names;
  /// none if there are none. Of several replicas the first gives its parts.
  State gradient_means() const;
  /// Restores what each rank of an earlier session, with the same or another number of ranks, has returned.
  void load_gradient_means(const std::vector<State>& of_ranks);

  /// Returns the module's parameters and buffers by name, on the CPU, as module_state_dict does: on rank 0, and none on
  /// the others. Collective: all ranks call it.
  State state_dict();
  /// Returns the same with marks for what is sharded, and adds this rank's slices to `shards` by the keys of the marks,
  /// which begin with `key` (sharded_state.h). Of several replicas the first gives its slices. No rank gathers
  /// anything.
  State sharded_state_dict(State& shards, const std::string& key = "state_dict") const;
  /// Whether this rank's shards are those of the first replica, the only one without hybrid_shard.
  bool holds_first_replica() const { return group_.rank() == shards_->rank(); }
  /// Gives each rank the whole parameters; the object is of no use afterwards. Collective: all ranks call it.
  void restore();

  const std::vector<MemoryBlock>& blocks() const override { return blocks_; }
  at::Tensor gradient(const ShardPart& part) const override;
  void check() const override;
  void shards_changed() override;

 private:
  struct Place {
    size_t unit, block;
  };
  void make_groups();
  void use(size_t unit);
  void prefetch(std::optional<size_t> unit);
  /// Makes all units whole, and keeps them so until release_all.
  void hold_all();
  void release_all();
  void release(size_t unit);
  std::vector<size_t> order_of_reductions() const;
  /// Returns the hash of the order in which each rank has used units in this forward, or kNoLoss.
  std::vector<int64_t> orders_of_ranks(bool has_loss);
  void check_order(const std::vector<int64_t>& hashes);
  [[noreturn]] void refuse_orders();

  torch::nn::Module& module_;
  ProcessGroup& group_;
  ShardingOptions options_;
  /// Two groups of the same ranks, so that gathers and reductions do not wait for each other.
  std::unique_ptr<ProcessGroup> shards_, reductions_;
  std::unique_ptr<ProcessGroup> replicas_;  ///< the ranks that have the same shards; null if there are none
  BufferPool pool_;
  std::deque<ShardedUnit> units_ = {};
  std::vector<bool> used_ = {};  ///< by unit: since it was gathered
  std::vector<bool> kept_ = {};  ///< by unit: so small that it stays until the optimizer's step
  bool holds_all_ = false;       ///< nothing is given back in this backward
  UnitOrder training_ = {}, evaluation_ = {};
  UnitOrder* order_ = &training_;
  bool in_pass_ = false;
  std::optional<size_t> postponed_ = {};  ///< unit to gather when reductions have given their memory back
  std::unique_ptr<ShardedGradients> gradients_;
  std::vector<MemoryBlock> blocks_ = {};  ///< of trained parameters
  std::vector<Place> places_ = {};        ///< of `blocks_`
};

}  // namespace levin::parallel
