#pragma once
#include <ATen/core/Tensor.h>
#include <levin/trainer/core/ranks/process_group.h>
#include <levin/trainer/core/state/state.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin::parallel {

/// As what gradients are sent between the ranks.
enum class GradientCompression { None, Float16, BFloat16 };

/// Options of DistributedDataParallel, with PyTorch's names and defaults.
struct DistributedDataParallelOptions {
  double bucket_cap_mb = 25;      ///< gradients are reduced in buckets of so many MiB, while backward goes on
  double first_bucket_mb = 1;     ///< the bucket that is full first, so that reducing begins early
  bool broadcast_buffers = true;  ///< before each forward the buffers (BatchNorm's statistics) become rank 0's
  /// In some steps some parameters get no gradient, on some ranks or on all. Costs a walk through each graph.
  bool find_unused_parameters = false;
  /// The graph is the same in all steps, whichever parameters it leaves out.
  bool static_graph = false;
  GradientCompression compression = GradientCompression::None;
  /// Each rank gets the mean of its own share of each bucket alone: for ShardedOptimizer. The buckets are those of the
  /// parameters' order, reversed, in all steps.
  bool shard_gradients = false;
  /// At the start, parameters and buffers become those of rank 0 (synchronize_module).
  bool init_sync = true;
};

/// What the ranks of a module send to each other in each step, by rings: each rank sends all but its own share.
struct ReductionPlan {
  int64_t bytes = 0;           ///< of all gradients, as they are sent
  int64_t buckets = 0;         ///< where backward fills them in the order of the parameters, reversed
  int64_t gathered_bytes = 0;  ///< of all parameters, where each rank steps its own share of them

  /// Bytes that one rank sends in a step. `scatters`: the backend reduces shares alone, where that is enough.
  int64_t bytes_sent(int64_t world_size, bool scatters) const;
};
ReductionPlan plan_reduction(const torch::nn::Module& module, const DistributedDataParallelOptions& options);

/// Makes parameters and buffers those of rank 0. Called by all ranks. Throws levin::UsageError on all of them where one
/// has others, in number, shape or dtype.
void synchronize_module(torch::nn::Module& module, ProcessGroup& group);

/// Makes the gradients of a module's parameters the mean over all ranks, while backward computes them: c10d::Reducer,
/// the engine of PyTorch's DistributedDataParallel, without its forward.
///
///     levin::parallel::GradientReducer reducer(*net, group);
///     ...
///     reducer.synchronize_buffers();
///     auto loss = F::cross_entropy(net(input), target);
///     reducer.backward(loss);
///
/// The buckets are the memory of the gradients: `grad()` is a view into them once it was reduced.
class GradientReducer {
 public:
  /// Called by all ranks. Throws as synchronize_module, and if no parameter requires a gradient. `module` and
  /// `group` must outlive the reducer.
  GradientReducer(torch::nn::Module& module, ProcessGroup& group, DistributedDataParallelOptions options = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Buffers become those of rank 0, or of the rank that was named last, where `broadcast_buffers` says so; before a
  /// forward in training.
  void synchronize_buffers();
  void take_buffers_of(int64_t rank) { source_of_buffers_ = rank; }
  /// The next backward through `output` reduces the gradients; returns what to call it on.
  at::Tensor prepare(const at::Tensor& output);
  /// After such a backward. Throws levin::UsageError with the names of parameters that got no gradient.
  void check_finished();
  /// `prepare`, `output.backward()` and `check_finished`.
  void backward(const at::Tensor& loss);
  /// Takes part in a reduction with gradients of zero, where this rank has no loss.
  void backward_of_nothing();

  /// Whether a parameter requires a gradient that did not when the reducer was made or last followed its module.
  bool has_unfrozen() const;
  /// From the next backward on reduces the gradients of all parameters that the module has now and that require one;
  /// new ones become rank 0's. Those that were reduced before stay, also where they require none for the moment. Called
  /// by all ranks in the same step. With `shard_gradients` new parameters get buckets of their own behind the others;
  /// throws levin::UsageError there where the module has lost one.
  void follow_module();

  /// The parameters of each bucket, in the order of their memory. They stay as they are only with `shard_gradients`.
  std::vector<std::vector<at::Tensor>> buckets() const;
  ProcessGroup& group() const { return group_; }

  /// The parameters of each bucket, by their place among those that require gradients, as the next backward has them.
  /// Called by all ranks.
  State state_dict() const;
  /// Takes those buckets, so that sums are made in the same order. Throws levin::UsageError for other parameters.
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
  std::vector<at::Tensor> parameters_ = {};  ///< that require gradients, each once
  std::vector<at::Tensor> frozen_ = {};      ///< the module's others
  std::unique_ptr<Engine> engine_;
};

}  // namespace levin::parallel
