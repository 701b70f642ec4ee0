#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/ranks/torch_compat/autograd_node.h>
#include <levin/core/state/state.h>
#include <levin/modules/parallel/ranks/distributed_data_parallel_options.h>
#include <levin/modules/parallel/ranks/synchronize_module.h>
#include <torch/csrc/autograd/function.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace levin::parallel {

/// Averages the gradients of a module's parameters over all ranks while backward computes them. Wraps c10d::Reducer,
/// the engine of PyTorch's DistributedDataParallel, without its forward.
///
///     levin::parallel::GradientReducer reducer(*net, group);
///     ...
///     reducer.synchronize_buffers();
///     auto loss = F::cross_entropy(net(input), target);
///     reducer.backward(loss);
///
/// The gradients are stored in the buckets: after the first reduction, `grad()` is a view into its bucket.
class GradientReducer {
 public:
  /// Collective: all ranks call it. Throws as synchronize_module, and if no parameter requires a gradient. `module` and
  /// `group` must outlive the reducer.
  GradientReducer(torch::nn::Module& module, ProcessGroup& group, DistributedDataParallelOptions options = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// If `broadcast_buffers` is set, broadcasts the buffers of rank 0, or of the rank last given to `take_buffers_of`.
  /// Call it before a forward in training.
  void synchronize_buffers();
  void take_buffers_of(int64_t rank) { source_of_buffers_ = rank; }
  /// Makes the next backward reduce the gradients; returns the tensor to call backward on, in place of `output`.
  at::Tensor prepare(const at::Tensor& output);
  /// Runs a backward between `prepare` and `check_finished`. Throws levin::UsageError if a static graph has changed.
  void run_backward(const std::function<void()>& backward);
  /// Call it after such a backward. Throws levin::UsageError with the names of parameters that got no gradient.
  void check_finished();
  /// Runs `prepare`, `output.backward()` and `check_finished`.
  void backward(const at::Tensor& loss);
  /// Takes part in a reduction with zero gradients, for a rank without a loss. `results`: those of its SyncBatchNorm,
  /// if the ranks have one.
  void backward_without_loss(std::vector<torch::autograd::Edge> results = {});

  /// Returns whether a parameter now requires a gradient that did not at construction or at the last `follow_module`.
  bool has_unfrozen() const;
  /// Returns whether a parameter was given other rows (optim::keep_rows and others) since then.
  bool has_other_rows() const;
  /// From the next backward on, reduces the gradients of all current parameters of the module that require one, with
  /// their present rows; new parameters are broadcast from rank 0. Parameters that were reduced before stay, even if
  /// they currently require no gradient. Collective: all ranks call it in the same step. With `shard_gradients`, new
  /// parameters get separate buckets after the others, and levin::UsageError is thrown if the module has lost a
  /// parameter.
  void follow_module();

  /// Returns the parameters of each bucket, in memory order. The buckets stay the same over time only with
  /// `shard_gradients`.
  std::vector<std::vector<at::Tensor>> buckets() const;
  ProcessGroup& group() const { return group_; }

  /// Returns the parameters of each bucket in the next backward, as indices among the parameters that require
  /// gradients. Call follow_module first if the module has changed. Collective: all ranks call it.
  State state_dict() const;
  /// Restores these buckets, so that sums are computed in the same order. Throws levin::UsageError if the parameters
  /// differ.
  void load_state_dict(const State& state);

 private:
  struct Engine;
  void make_engine(std::vector<std::vector<size_t>> buckets);
  std::vector<std::vector<size_t>> buckets_with(const std::vector<at::Tensor>& added) const;

  torch::nn::Module& module_;
  ProcessGroup& group_;
  DistributedDataParallelOptions options_;
  int64_t source_of_buffers_ = 0;
  std::vector<std::string> names_ = {};
  std::vector<at::Tensor> parameters_ = {};                   ///< parameters that require gradients, without duplicates
  std::vector<torch_compat::NodePointer> accumulators_ = {};  ///< of the parameters' gradients, which the engine hooks
  std::vector<at::Tensor> frozen_ = {};                       ///< the module's other parameters
  std::unique_ptr<Engine> engine_;
};

}  // namespace levin::parallel
