#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace levin::data {

/// How pixels between pixels are found.
enum class Interpolation { Nearest, Bilinear, Bicubic };

/// "nearest", "bilinear" or "bicubic"; the options' limits have refused other names.
Interpolation parse_interpolation(const std::string& name);

/// Writes `images` [samples, channels, height, width] to `out`, of the same type and another height and width.
/// `antialias` weighs all pixels under an output pixel where images become smaller; it is not for nearest.
void resize_into(at::Tensor out, const at::Tensor& images, Interpolation interpolation, bool antialias);

}  // namespace levin::data
