#include <levin/trainer/strategies/strategy_options.h>
#include <levin/modules/parallel/ranks/distributed_data_parallel_options.h>
#include <levin/modules/parallel/sharding/sharded_module.h>

namespace levin {

parallel::DistributedDataParallelOptions reducer_options(const DDPOptions& options, bool shards_optimizer) {
  return {.bucket_cap_mb = options.bucket_cap_mb,
          .find_unused_parameters = options.find_unused_parameters,
          .static_graph = options.static_graph,
          .compression = options.gradient_compression,
          .shard_gradients = shards_optimizer};
}

parallel::ShardingOptions sharding_options(const FSDPOptions& options, int64_t sharing_ranks) {
  return {.keep_parameters = options.shard == ShardedState::Gradients,
          .find_unused_parameters = options.find_unused_parameters,
          .hybrid_shard = sharing_ranks,
          .reduce_each_batch = options.reduce_each_batch,
          .gather_dtype = dtype_of(options.parameter_compression),
          .reduce_dtype = dtype_of(options.gradient_compression)};
}

}  // namespace levin
