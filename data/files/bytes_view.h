#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace levin::data {

/// Returns the `bytes` bytes at `data` as uint8 [bytes], a view that keeps `owner` alive.
at::Tensor bytes_view(const void* data, int64_t bytes, std::shared_ptr<const void> owner);

}  // namespace levin::data
