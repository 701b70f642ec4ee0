#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace levin::adapters {

/// The values of NormalFloat4 in ascending order: quantiles of the normal distribution, from -1 to 1, with an exact
/// zero. Source: Dettmers et al. 2023, "QLoRA: Efficient Finetuning of Quantized LLMs", appendix E.
const std::array<float, 16>& nf4_values();

/// The values of the signed dynamic data type of 8 bits in ascending order, from -1 to 1: the more zeros a code begins
/// with, the smaller the power of 10, and the bits left are a linear fraction. Source: Dettmers 2015, "8-Bit
/// Approximations for Parallelism in Deep Learning", section 3.
const std::array<float, 256>& dynamic_values();

/// Returns the index of the value nearest to `number`; of two that are as near, the lower one.
template <size_t Size>
uint8_t nearest(const std::array<float, Size>& values, float number) {
  size_t low = 0, high = Size - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (number > (values[middle] + values[middle + 1]) / 2)
      low = middle + 1;
    else
      high = middle;
  }
  return static_cast<uint8_t>(low);
}

}  // namespace levin::adapters
