#include <levin/modules/parallel/ranks/reduction_buckets.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

namespace levin::parallel {
namespace {

size_t bytes_of(double megabytes) { return static_cast<size_t>(megabytes * (1 << 20)); }

}  // namespace

size_t bucket_bytes(const DistributedDataParallelOptions& options) { return bytes_of(options.bucket_cap_mb); }

size_t first_bucket_bytes(const DistributedDataParallelOptions& options) {
  return bytes_of(std::min(options.first_bucket_mb, options.bucket_cap_mb));
}

Buckets buckets_of_backward(const std::vector<at::Tensor>& parameters, const DistributedDataParallelOptions& options) {
  const std::vector<at::Tensor> reversed(parameters.rbegin(), parameters.rend());
  Buckets buckets = std::get<0>(
      c10d::compute_bucket_assignment_by_size(reversed, {first_bucket_bytes(options), bucket_bytes(options)}));
  for (std::vector<size_t>& bucket : buckets)
    for (size_t& index : bucket) index = parameters.size() - 1 - index;
  return buckets;
}

Buckets first_buckets(const std::vector<at::Tensor>& parameters, const DistributedDataParallelOptions& options) {
  const bool will_rebuild = options.static_graph || !options.find_unused_parameters;
  if (options.shard_gradients || !will_rebuild) return buckets_of_backward(parameters, options);
  const auto no_limit = static_cast<size_t>(std::numeric_limits<int64_t>::max());
  Buckets buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(parameters, {no_limit}));
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

Buckets indices_in(const std::vector<at::Tensor>& parameters, const std::vector<std::vector<at::Tensor>>& buckets) {
  std::unordered_map<const void*, size_t> places;
  for (size_t i = 0; i < parameters.size(); ++i) places[parameters[i].unsafeGetTensorImpl()] = i;
  Buckets indices;
  for (const std::vector<at::Tensor>& bucket : buckets) {
    indices.emplace_back();
    for (const at::Tensor& parameter : bucket) indices.back().push_back(places.at(parameter.unsafeGetTensorImpl()));
  }
  return indices;
}

std::vector<std::pair<std::string, at::Tensor>> trained_parameters(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, at::Tensor>> trained;
  std::set<const void*> seen;
  for (const auto& item : module.named_parameters())
    if (item.value().requires_grad() && seen.insert(item.value().unsafeGetTensorImpl()).second)
      trained.emplace_back(item.key(), item.value());
  return trained;
}

}  // namespace levin::parallel
