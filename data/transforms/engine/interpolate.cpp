#include <levin/data/transforms/engine/interpolate.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_nearest2d.h>

namespace levin::data {
namespace {

at::Tensor resized(const at::Tensor& images, at::IntArrayRef size, Interpolation interpolation, bool antialias) {
  switch (interpolation) {
    case Interpolation::Nearest:
      return at::upsample_nearest2d(images, size);
    case Interpolation::Bilinear:
      return antialias ? at::_upsample_bilinear2d_aa(images, size, /*align_corners=*/false)
                       : at::upsample_bilinear2d(images, size, /*align_corners=*/false);
    case Interpolation::Bicubic:
      return antialias ? at::_upsample_bicubic2d_aa(images, size, /*align_corners=*/false)
                       : at::upsample_bicubic2d(images, size, /*align_corners=*/false);
  }
  return {};
}

}  // namespace

void resize_into(at::Tensor out, const at::Tensor& images, Interpolation interpolation, bool antialias) {
  const at::IntArrayRef size = out.sizes().slice(2);
  const at::ScalarType type = images.scalar_type();
  // Interpolation in half precision would be coarse. Bytes have their own kernels, which round after each direction.
  const bool native = type == at::kByte || type == at::kFloat || type == at::kDouble;
  if (images.sizes().slice(2) == size) {
    out.copy_(images);
  } else if (native) {
    out.copy_(resized(images, size, interpolation, antialias));
  } else {
    out.copy_(resized(images.to(at::kFloat), size, interpolation, antialias));
  }
}

}  // namespace levin::data
