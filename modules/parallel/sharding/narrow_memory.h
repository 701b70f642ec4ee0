#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace levin::parallel {

/// Returns `dtype` if it takes fewer bytes than the floating-point dtype `own`; otherwise nullopt.
std::optional<at::ScalarType> narrower(at::ScalarType own, std::optional<at::ScalarType> dtype);

// Memory that is sent in a narrower dtype than it is used in. `wide` is 1-dimensional and contiguous, and an element of
// `dtype` takes at most half the bytes of one of `wide`. Nothing of the size of `wide` is allocated.

/// Returns the last bytes of `wide` as a tensor of as many elements of `dtype`.
at::Tensor narrow_end(const at::Tensor& wide, at::ScalarType dtype);
/// Converts the elements in `narrow_end` to those of `wide`, in the same memory.
void widen(const at::Tensor& wide, at::ScalarType dtype);
/// Converts the elements of `wide` to `dtype`, in its first bytes, and returns these. `narrow_end` does not overlap
/// them.
at::Tensor narrow(const at::Tensor& wide, at::ScalarType dtype);

}  // namespace levin::parallel
