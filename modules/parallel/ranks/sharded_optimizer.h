#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/ranks/gradient_reducer.h>
#include <levin/trainer/core/state/state.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <vector>

namespace levin::parallel {

/// An optimizer of which each rank steps its own share of the parameters, and has the state for that share alone: with
/// Adam on N ranks, 8/N bytes for each float32 in place of 8.
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
/// The parameters of each of the reducer's buckets are put into one memory, which is divided among the ranks: one
/// tensor of one dimension for each part of a parameter stands in the optimizer's groups in its place. Gradients arrive
/// by reduce-scatter, and after the step the shares are gathered from all ranks. A parameter's own `grad()` is of use
/// only where it is this rank's share.
///
/// Source: Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020 (stage 1),
/// https://arxiv.org/abs/1910.02054
class ShardedOptimizer {
 public:
  /// `optimizer` is one of levin's or LibTorch's that steps each element by itself (is_elementwise); with `reducer` it
  /// must outlive this. State that it has already is kept. Throws levin::UsageError for other optimizers, and for
  /// parameters whose elements share memory.
  ShardedOptimizer(torch::optim::Optimizer& optimizer, const GradientReducer& reducer);

  /// Divides the parameters of groups that were added to the optimizer since, and those that the reducer has taken in
  /// (GradientReducer::follow_module), which comes first; parts that are here already stay as they are. To be called
  /// before a forward, by all ranks. Throws levin::UsageError if the groups that were divided hold other tensors,
  /// and for parameters that the reducer does not have.
  void follow();
  /// Divides all parameters anew, by buckets that the reducer has loaded. The optimizer's state is dropped: it is
  /// loaded after this. Called by all ranks.
  void divide_again();
  /// Drops the gradients of the optimizer's parameters, wherever they are.
  void zero_grad();
  /// The gradients that backward has reduced become those of the parts that the optimizer steps; they share memory.
  void take_gradients();
  /// Steps this rank's share, and gathers those of the others. Called by all ranks; returns what `closure` returns.
  /// Throws levin::UsageError if a parameter has been given other memory (`to`, `set_data`).
  at::Tensor step(const torch::optim::Optimizer::LossClosure& closure = nullptr);
  /// The 2-norm of all gradients, from that of this rank's share. Called by all ranks.
  at::Tensor norm_of_all(const at::Tensor& norm_of_share) const;

  /// The whole state in the layout of Python's optimizers, over whole parameters, on the CPU, as without shares: on
  /// rank 0, and nothing on the others. Called by all ranks.
  State state_dict();
  /// Takes this rank's share of such a state. Throws levin::UsageError if groups, parameters or shapes do not fit;
  /// the optimizer is then unchanged.
  void load_state_dict(const State& state);

 private:
  /// The parameters of a bucket, one behind the other, and behind them nothing, up to a multiple of the ranks.
  struct Memory {
    at::Tensor all = {}, own = {};  ///< `own`: this rank's share of it
    int64_t size = 0;               ///< elements of the parameters
    std::vector<at::Tensor> parameters = {};
  };
  /// This rank's part of a parameter.
  struct Part {
    size_t parameter = 0;  ///< its place among the optimizer's parameters
    int64_t begin = 0;     ///< its first element, in the order of memory
    at::Tensor values = {};
  };
  void put_together(const std::vector<at::Tensor>& bucket);
  void make_parts();
  void check_groups() const;
  void check_memory() const;

  torch::optim::Optimizer& optimizer_;
  const GradientReducer& reducer_;
  ProcessGroup& group_;
  std::vector<size_t> group_sizes_ = {};     ///< parameters of each of the optimizer's groups
  std::vector<at::Tensor> parameters_ = {};  ///< of all groups
  std::vector<Memory> memories_ = {};
  std::vector<Part> parts_ = {};  ///< in the order of the parameters
};

}  // namespace levin::parallel
