#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace levin::data {

/// The interpolation between pixels.
enum class Interpolation { Nearest, Bilinear, Bicubic };

/// Parses "nearest", "bilinear" or "bicubic"; the option check has already refused other names.
Interpolation parse_interpolation(const std::string& name);

/// Resizes `images` [samples, channels, height, width] to the height and width of `out`, which has the same dtype.
/// `antialias` weighs all pixels under an output pixel if images become smaller; it does not apply to nearest.
void resize_into(at::Tensor out, const at::Tensor& images, Interpolation interpolation, bool antialias);

}  // namespace levin::data
