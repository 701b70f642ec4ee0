#pragma once
#include <levin/modules/parallel/ranks/compression.h>

namespace levin::parallel {

/// Options of DistributedDataParallel, with PyTorch's names and defaults.
struct DistributedDataParallelOptions {
  double bucket_cap_mb = 25;      ///< gradients are reduced in buckets of this many MiB, overlapped with backward
  double first_bucket_mb = 1;     ///< size of the first bucket to fill up, small so that reduction starts early
  bool broadcast_buffers = true;  ///< broadcast the buffers (BatchNorm's statistics) of rank 0 before each forward
  /// Set it if in some steps some parameters get no gradient, on some or all ranks. Costs a traversal of each graph.
  bool find_unused_parameters = false;
  /// Set it if the graph is the same in all steps; it may leave out parameters.
  bool static_graph = false;
  Compression compression = Compression::None;
  /// For ShardedOptimizer: each rank gets only the mean of its own shard of each bucket. In all steps the buckets
  /// follow the reversed order of the parameters.
  bool shard_gradients = false;
  /// At the start, broadcast the parameters and buffers of rank 0 (synchronize_module).
  bool init_sync = true;
};

}  // namespace levin::parallel
