#include <levin/modules/parallel/ranks/reduction_plan.h>
#include <levin/modules/parallel/ranks/reduction_buckets.h>

namespace levin::parallel {

int64_t ReductionPlan::bytes_sent(int64_t world_size, bool scatters) const {
  const int64_t rounds_of_gradients = gathered_bytes > 0 && (scatters || only_scatters) ? 1 : 2;
  const int64_t sharing = sharing_ranks > 0 ? sharing_ranks : world_size, groups = world_size / sharing;
  const int64_t in_group = (sharing - 1) * (rounds_of_gradients * bytes + gathered_bytes) / sharing;
  return in_group + 2 * (groups - 1) * bytes / (sharing * groups);  // then shards are all-reduced over the groups
}

ReductionPlan plan_reduction(const torch::nn::Module& module, const DistributedDataParallelOptions& options) {
  ReductionPlan plan;
  std::vector<at::Tensor> parameters;
  for (const auto& [name, parameter] : trained_parameters(module)) parameters.push_back(parameter);
  if (parameters.empty()) return plan;
  const std::optional<at::ScalarType> sent_as = dtype_of(options.compression);
  for (const at::Tensor& parameter : parameters) {
    const auto size = static_cast<int64_t>(parameter.nbytes());
    plan.bytes += sent_as ? parameter.numel() * static_cast<int64_t>(c10::elementSize(*sent_as)) : size;
    if (options.shard_gradients) plan.gathered_bytes += size;
  }
  plan.buckets = static_cast<int64_t>(buckets_of_backward(parameters, options).size());
  return plan;
}

}  // namespace levin::parallel
