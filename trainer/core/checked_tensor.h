#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace levin {

/// Throws c10::Error where a tensor would have more dimensions than LibTorch computes with: 64.
void check_dimensions(const std::vector<int64_t>& sizes);

/// A strided view of `storage`, in elements of `type`. Throws c10::Error where any element would lie outside of it.
at::Tensor view_of_storage(const c10::Storage& storage, at::ScalarType type, int64_t offset,
                           const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);

/// A new contiguous CPU tensor with a copy of `bytes`, which must be exactly as many as it needs.
at::Tensor tensor_from_bytes(std::string_view bytes, at::ScalarType type, const std::vector<int64_t>& sizes);

/// Makes each byte 0 or 1: any other value in a bool tensor is undefined behaviour.
void normalize_bools(const c10::Storage& storage);

}  // namespace levin
