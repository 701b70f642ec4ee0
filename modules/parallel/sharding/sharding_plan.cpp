#include <levin/modules/parallel/sharding/sharding_plan.h>
#include <levin/modules/parallel/ranks/shard.h>
#include <levin/modules/parallel/sharding/find_units.h>

#include <algorithm>
#include <set>
#include <vector>

namespace levin::parallel {

ShardingPlan plan_sharding(const torch::nn::Module& module, const ShardingOptions& options, int64_t ranks,
                           bool accumulates) {
  ShardingPlan plan;
  int64_t all = 0, trained = 0, before = 0, largest = 0;
  for (const UnitParameters& unit : find_units(module)) {
    int64_t bytes = 0, of_gradients = 0;
    for (const at::Tensor& parameter : unit.parameters) {
      const auto size = static_cast<int64_t>(parameter.nbytes());
      bytes += size;
      if (parameter.requires_grad()) of_gradients += size;
    }
    all += bytes;
    trained += of_gradients;
    if (of_gradients > 0) ++plan.reduction.buckets;
    // The gradients of a unit with those that arrive, or with the unit itself, and the unit before, gathered meanwhile.
    largest = std::max(largest, of_gradients + (options.keep_parameters ? of_gradients : bytes + before));
    before = bytes;
  }
  plan.parameters = shard_size(all, ranks);
  plan.gradients = shard_size(trained, ranks);
  plan.whole = largest + (options.keep_parameters ? all : 0) + (accumulates ? trained : 0);
  plan.reduction.bytes = trained;
  plan.reduction.gathered_bytes = options.keep_parameters ? all : 2 * all;
  plan.reduction.only_scatters = true;
  return plan;
}

int64_t whole_bytes(const torch::nn::Module& module) {
  std::set<const void*> seen;
  int64_t bytes = 0;
  for (const at::Tensor& parameter : module.parameters())
    if (parameter.storage().data() != nullptr && seen.insert(parameter.storage().data()).second)
      bytes += static_cast<int64_t>(parameter.storage().nbytes());
  return bytes;
}

}  // namespace levin::parallel
