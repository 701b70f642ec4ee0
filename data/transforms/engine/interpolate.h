#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/transforms/interpolation.h>

namespace levin::data {

/// Resizes `images` [samples, channels, height, width] to the height and width of `out`, which has the same dtype.
/// `antialias` weighs all pixels under an output pixel if images become smaller; it does not apply to nearest.
void resize_into(at::Tensor out, const at::Tensor& images, Interpolation interpolation, bool antialias);

}  // namespace levin::data
