#pragma once
#include <levin/modules/parallel/ranks/gradient_reducer.h>
#include <levin/modules/parallel/sharding/sharded_module.h>
#include <torch/nn/module.h>

#include <cstdint>

namespace levin::parallel {

/// What a rank of a ShardedModule holds and sends, in bytes.
struct ShardingPlan {
  int64_t parameters = 0;        ///< its shards of the parameters
  int64_t gradients = 0;         ///< its shards of the gradients
  int64_t whole = 0;             ///< the most that units and their gradients take besides, in a step
  ReductionPlan reduction = {};  ///< what a step sends
};

/// `ranks`: of the run. `accumulates`: several batches make a step, over which each rank keeps whole gradients. The
/// module may be divided already.
ShardingPlan plan_sharding(const torch::nn::Module& module, const ShardingOptions& options, int64_t ranks,
                           bool accumulates);

/// Returns the bytes of the module's parameters that are whole at the moment.
int64_t whole_bytes(const torch::nn::Module& module);

}  // namespace levin::parallel
