#pragma once
#include <levin/modules/parallel/ranks/reduction_plan.h>
#include <levin/modules/parallel/sharding/sharded_module.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace levin::parallel {

/// What a rank of a ShardedModule holds and sends, in bytes.
struct ShardingPlan {
  int64_t parameters = 0;        ///< its shards of the parameters
  int64_t gradients = 0;         ///< its shards of the gradients
  int64_t whole = 0;             ///< the most that units and their gradients take besides, in a step
  ReductionPlan reduction = {};  ///< what a step sends
};

/// The step that a plan is for.
struct PlannedStep {
  int64_t ranks = 1;     ///< of the run
  int64_t batches = 1;   ///< that make the step; over several, each rank keeps whole gradients (reduce_each_batch)
  bool scatters = true;  ///< the backend works in place and has a reduce-scatter, as NCCL; Gloo takes more buffers
  /// What a batch's forward and backward use (ShardedModule::uses). Empty: each unit in both.
  std::vector<size_t> uses = {};
};

/// The module may be divided already.
ShardingPlan plan_sharding(const torch::nn::Module& module, const ShardingOptions& options, const PlannedStep& step);

/// Returns the bytes of the module's parameters that are whole at the moment.
int64_t whole_bytes(const torch::nn::Module& module);

}  // namespace levin::parallel
