#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/transforms/padding_mode.h>

#include <array>
#include <cstdint>
#include <vector>

namespace levin::data {

/// The upper left corner of a window in the image; may lie outside.
struct Corner {
  int64_t top = 0, left = 0;
};

/// Returns one window of `size` (height, width) from each of `images` [samples, channels, height, width], of bytes,
/// int64 or floating point, contiguous.
/// `corners` has one entry per sample; `fill` has one value per channel, for PaddingMode::Constant.
at::Tensor windows_of(const at::Tensor& images, const std::vector<Corner>& corners, std::array<int64_t, 2> size,
                      PaddingMode mode, const std::vector<double>& fill);

}  // namespace levin::data
