#pragma once
#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include <cstdint>

/// Returns random numbers in float64 that are the same in all threads, which share LibTorch's own generator.
inline torch::Tensor numbers(uint64_t seed, at::IntArrayRef sizes) {
  return torch::randn(sizes, at::detail::createCPUGenerator(seed), torch::kDouble);
}
