#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace levin {

/// Throws c10::Error if a tensor would have more than 64 dimensions, LibTorch's limit.
void check_dimensions(const std::vector<int64_t>& sizes);

/// Returns the bytes from a storage's start to a tensor's last element; 0 if the tensor is empty. Throws c10::Error for
/// sizes, strides and offsets that no tensor can have.
uint64_t bytes_in_storage(at::ScalarType type, int64_t offset, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides);

/// Returns a strided view of `storage`, in elements of `type`. Throws c10::Error if any element would lie outside it.
at::Tensor view_of_storage(const c10::Storage& storage, at::ScalarType type, int64_t offset,
                           const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);

/// Returns a new contiguous CPU tensor with a copy of `bytes`. Throws c10::Error if their number does not match
/// `sizes`.
at::Tensor tensor_from_bytes(std::string_view bytes, at::ScalarType type, const std::vector<int64_t>& sizes);

/// Sets each byte above 1 to 1: any value but 0 and 1 in a bool tensor is undefined behaviour.
void normalize_bools(const c10::Storage& storage);

}  // namespace levin
