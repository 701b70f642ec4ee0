#pragma once
#include <levin/modules/parallel/ranks/distributed_data_parallel_options.h>
#include <torch/nn/module.h>

#include <cstdint>

namespace levin::parallel {

/// The communication of one step with ring algorithms, in which each rank sends everything but its own shard.
struct ReductionPlan {
  int64_t bytes = 0;           ///< size of all gradients in the dtype in which they are sent
  int64_t buckets = 0;         ///< number of buckets if backward fills them in the reversed order of the parameters
  int64_t gathered_bytes = 0;  ///< size of all parameters that a step gathers, if each rank steps its own shard
  bool only_scatters = false;  ///< ranks get nothing but their shards of gradients, whatever the backend supports
  int64_t sharing_ranks = 0;   ///< number of ranks that divide gradients and parameters among each other; 0: all ranks

  /// Returns the bytes that one rank sends in a step. `scatters`: the backend supports reduce-scatter, which is used
  /// where it suffices.
  int64_t bytes_sent(int64_t world_size, bool scatters) const;
};

/// Returns what a step sends that reduces the gradients of the module's parameters.
ReductionPlan plan_reduction(const torch::nn::Module& module, const DistributedDataParallelOptions& options);

}  // namespace levin::parallel
