#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/ranks/distributed_data_parallel_options.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace levin::parallel {

/// The indices of the parameters of each bucket.
using Buckets = std::vector<std::vector<size_t>>;

/// Returns the module's parameters that require gradients, without duplicates, with their names.
std::vector<std::pair<std::string, at::Tensor>> trained_parameters(const torch::nn::Module& module);

/// Returns the limit of a bucket.
size_t bucket_bytes(const DistributedDataParallelOptions& options);
/// Returns the limit of the first bucket, which is no larger than the others.
size_t first_bucket_bytes(const DistributedDataParallelOptions& options);

/// Returns buckets of limited size that fill up one after the other if backward visits the parameters in reversed
/// order.
Buckets buckets_of_backward(const std::vector<at::Tensor>& parameters, const DistributedDataParallelOptions& options);

/// Returns the buckets used until the actual order of backward is known, if it ever is.
Buckets first_buckets(const std::vector<at::Tensor>& parameters, const DistributedDataParallelOptions& options);

/// Returns, for each bucket, the indices of its tensors in `parameters`.
Buckets indices_in(const std::vector<at::Tensor>& parameters, const std::vector<std::vector<at::Tensor>>& buckets);

}  // namespace levin::parallel
