#pragma once
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <levin/data/data_loader.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

namespace levin::testing {

/// Returns a dataset whose sample i has input [1] and target, both with the value i.
inline std::shared_ptr<const data::TensorDataset> counting(int64_t samples) {
  const at::Tensor x = at::arange(samples, at::TensorOptions(at::kLong));
  return std::make_shared<const data::TensorDataset>(x.unsqueeze(1).to(at::kFloat), x);
}

inline std::vector<int64_t> values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kLong).contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

/// Returns 0, 1, ..., end - 1.
inline std::vector<int64_t> range(int64_t end) {
  std::vector<int64_t> all(static_cast<size_t>(end));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

inline std::vector<int64_t> sorted(std::vector<int64_t> list) {
  std::ranges::sort(list);
  return list;
}

/// Returns the targets of the rest of an epoch.
inline std::vector<int64_t> rest_of(data::Loader& loader) {
  std::vector<int64_t> all;
  while (auto loaded = loader.next()) {
    if (loaded->samples == 0) continue;
    for (const int64_t value : values(loaded->batch.target())) all.push_back(value);
  }
  return all;
}

}  // namespace levin::testing
