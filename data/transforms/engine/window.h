#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// What pixels outside of an image are.
enum class PaddingMode { Constant, Edge, Reflect, Symmetric };

/// "constant", "edge", "reflect" or "symmetric"; the options' limits have refused other names.
PaddingMode parse_padding_mode(const std::string& name);

/// Where a window begins in the image; may lie outside.
struct Corner {
  int64_t top = 0, left = 0;
};

/// One window of `size` (height, width) from each image of `images` [samples, channels, height, width], contiguous;
/// `corners` has one for each sample, `fill` one value for each channel, for PaddingMode::Constant.
at::Tensor windows_of(const at::Tensor& images, const std::vector<Corner>& corners, std::array<int64_t, 2> size,
                      PaddingMode mode, const std::vector<double>& fill);

}  // namespace levin::data
