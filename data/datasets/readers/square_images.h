#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace levin::data {

enum class ImageResize : uint8_t;

/// Resizes images [samples, channels, height, width] of any dtype to squares of `side` pixels, bilinearly with
/// antialiasing: both sides, or the shorter side to `shorter_side`, of which the middle is taken.
/// Source: torchvision's Resize and CenterCrop.
at::Tensor square_images(const at::Tensor& images, ImageResize resize, int64_t side, int64_t shorter_side);

}  // namespace levin::data
