#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/state.h>
#include <levin/modules/optim/engine/found_by_optimizer.h>
#include <levin/modules/optim/engine/row_change.h>
#include <levin/modules/parallel/ranks/gradient_reducer.h>
#include <levin/modules/parallel/ranks/sharded_memory.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace levin::parallel {

class BucketMemory;

/// An optimizer sharded over the ranks: each rank steps its own shard of the parameters and stores only the state of
/// that shard. With Adam on N ranks this takes 8/N bytes per float32 parameter instead of 8.
///
///     levin::parallel::GradientReducer reducer(*net, group, {.shard_gradients = true});
///     levin::optim::Adam adam(net->parameters());
///     levin::parallel::ShardedOptimizer optimizer(adam, reducer);
///     for (...) {
///       optimizer.zero_grad();
///       reducer.backward(loss(net(input), target));
///       optimizer.take_gradients();
///       optimizer.step();
///     }
///
/// The parameters of each of the reducer's buckets are moved into one block of memory, which is divided among the
/// ranks. In the optimizer's groups, each parameter is replaced by a 1-dimensional tensor, its part in this rank's
/// shard. Gradients arrive by reduce-scatter, and after the step the shards are gathered from all ranks. A parameter's
/// own `grad()` is valid only within this rank's shard.
///
/// Source: Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020 (stage 1),
/// https://arxiv.org/abs/1910.02054
class ShardedOptimizer : public optim::detail::FoundByOptimizer<ShardedOptimizer> {
 public:
  /// `optimizer` is one of levin's or LibTorch's that steps each element independently (is_elementwise), or Muon, whose
  /// updates are put together in each step. `optimizer` and `reducer` must outlive this object. Existing optimizer
  /// state is kept. Throws levin::UsageError for other optimizers, and for parameters whose elements share memory.
  ShardedOptimizer(torch::optim::Optimizer& optimizer, const GradientReducer& reducer);
  /// The same for parameters that are already divided. `strategy`: its name, for errors. All must outlive this object.
  ShardedOptimizer(torch::optim::Optimizer& optimizer, ShardedMemory& memory, ProcessGroup& group,
                   const char* strategy);
  ~ShardedOptimizer();

  /// Throws levin::UsageError, which begins with the strategy's name, unless the optimizer is elementwise or Muon.
  static void check(const torch::optim::Optimizer& optimizer, const std::string& strategy);

  /// Shards the parameters of groups that were added to the optimizer since the last call, and new parameters of the
  /// reducer (call GradientReducer::follow_module first); existing parts stay unchanged. Collective: all ranks call it,
  /// before a forward. Throws levin::UsageError if groups that are already sharded hold other tensors, and for
  /// parameters that the reducer does not have.
  void follow();
  /// Shards all parameters again, by the buckets that the reducer has loaded. Drops the optimizer's state, which must
  /// be loaded afterwards. Collective: all ranks call it.
  void reshard();
  /// Drops the gradients of the original parameters and of the parts.
  void zero_grad();
  /// Assigns the reduced gradients to the parts that the optimizer steps; they share memory.
  void take_gradients();
  /// Steps this rank's shard and gathers the shards of the other ranks; returns the result of `closure`. Collective:
  /// all ranks call it. Throws levin::UsageError if a parameter was moved to other memory (`to`, `set_data`).
  at::Tensor step(const torch::optim::Optimizer::LossClosure& closure = nullptr);
  /// To be called after the parts have changed outside of a step: the parameters of all ranks get their values.
  /// Collective: all ranks call it.
  void gather_parts() const { memory_.shards_changed(); }
  /// Returns the 2-norm of all gradients, given the norm of this rank's shard. Collective: all ranks call it.
  at::Tensor norm_of_all(const at::Tensor& norm_of_share) const;

  /// Returns the parameters of which the optimizer's groups hold parts now, one for each part, in their order.
  std::vector<at::Tensor> whole_parameters() const;

  /// Calls `visit` for each part that the optimizer's groups hold, with its parameter and its first element there.
  void for_each_part(
      const std::function<void(const at::Tensor& parameter, int64_t begin, const at::Tensor& part)>& visit) const;
  /// Returns the parameters of each of the optimizer's groups, also those of which this rank has no part.
  std::vector<std::vector<at::Tensor>> whole_groups() const;
  /// Returns the ranks among which the parameters are divided.
  ProcessGroup& group() const { return group_; }

  /// Returns the unsharded state, over whole parameters, on the CPU, in the layout of Python's optimizers: on rank 0,
  /// and an empty state on the other ranks. Collective: all ranks call it.
  State state_dict();
  /// Returns the same with a mark for the state of the parameters, on all ranks, and adds this rank's slices to
  /// `shards` (sharded_state.h), unless that is none. No rank gathers anything.
  State sharded_state_dict(State& shards);
  /// Loads this rank's shard of a state that `state_dict` returned on rank 0. Throws levin::UsageError if groups,
  /// parameters or shapes do not match; the optimizer is then unchanged.
  void load_state_dict(const State& state);

 private:
  /// This rank's part of a parameter.
  struct Part {
    size_t parameter = 0;  ///< index among the optimizer's parameters
    ShardPart place = {};
    at::Tensor values = {};
  };
  ShardedOptimizer(torch::optim::Optimizer& optimizer, std::unique_ptr<BucketMemory> buckets, ShardedMemory* memory,
                   ProcessGroup& group, const char* strategy);
  friend class optim::detail::RowSubscription;
  bool has_rows_of(const at::Tensor& parameter) const;
  /// Throws levin::UsageError: rows of a sharded parameter cannot change.
  void prepare(const at::Tensor& parameter, const optim::detail::RowChange& change, optim::detail::RowCommit& commit);
  void make_parts();
  State groups_of_all(const State& groups_of_parts) const;
  void check_groups() const;
  /// Ends a step of Muon, whose orthogonalization needs whole matrices.
  void add_whole_updates();

  torch::optim::Optimizer& optimizer_;
  std::unique_ptr<BucketMemory> buckets_;  ///< null if the parameters were already divided
  ShardedMemory& memory_;
  ProcessGroup& group_;
  const char* strategy_;
  std::vector<size_t> group_sizes_ = {};     ///< number of parameters in each of the optimizer's groups
  std::vector<at::Tensor> parameters_ = {};  ///< parameters of all groups
  std::vector<Part> parts_ = {};             ///< in the order of the parameters
  optim::detail::RowSubscription rows_{*this};
};

}  // namespace levin::parallel
