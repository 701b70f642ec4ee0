#include <levin/data/transforms/engine/warp.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace levin::data {
namespace {

/// Returns the input places of all output pixels, float32 [samples, height, width, 2], from -1 to 1 between the image's
/// edges.
///
/// at::affine_grid_generator is not used: its order of summation may depend on the number of samples.
at::Tensor grid_of(const std::vector<InverseMap>& maps, int64_t height, int64_t width) {
  at::Tensor grid = at::empty({static_cast<int64_t>(maps.size()), height, width, 2}, at::TensorOptions(at::kFloat));
  float* out = grid.mutable_data_ptr<float>();
  const auto half_height = static_cast<double>(height) / 2, half_width = static_cast<double>(width) / 2;
  for (const InverseMap& m : maps) {
    for (int64_t row = 0; row < height; ++row) {
      const double y = static_cast<double>(row) + 0.5 - half_height;
      const double in_row_x = m[1] * y + m[2], in_row_y = m[4] * y + m[5];
      for (int64_t column = 0; column < width; ++column, out += 2) {
        const double x = static_cast<double>(column) + 0.5 - half_width;
        out[0] = static_cast<float>((m[0] * x + in_row_x) / half_width);
        out[1] = static_cast<float>((m[3] * x + in_row_y) / half_height);
      }
    }
  }
  return grid;
}

}  // namespace

InverseMap AffineMap::inverse() const {
  constexpr double kRadians = std::numbers::pi / 180;
  const double turn = angle * kRadians, x = shear_x * kRadians, y = shear_y * kRadians;
  // The forward map is a shear, then a rotation; its determinant is 1, so the inverse needs no division except by
  // scale.
  const double a = std::cos(turn - y) / std::cos(y), c = std::sin(turn - y) / std::cos(y);
  const double b = -a * std::tan(x) - std::sin(turn), d = -c * std::tan(x) + std::cos(turn);
  InverseMap m = {d / scale, -b / scale, 0, -c / scale, a / scale, 0};
  m[2] = -m[0] * move_x - m[1] * move_y;
  m[5] = -m[3] * move_x - m[4] * move_y;
  return m;
}

at::Tensor warp(const at::Tensor& images, const std::vector<InverseMap>& maps, Interpolation interpolation,
                const std::vector<double>& fill) {
  constexpr int64_t kBilinear = 0, kNearest = 1, kZerosOutside = 0;
  const int64_t mode = interpolation == Interpolation::Nearest ? kNearest : kBilinear;
  const at::ScalarType exact = images.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor grid = grid_of(maps, images.size(2), images.size(3)).to(exact);
  const auto sample = [&](const at::Tensor& from) {
    return at::grid_sampler_2d(from, grid, mode, kZerosOutside, /*align_corners=*/false);
  };
  at::Tensor out = sample(images.to(exact));
  if (std::ranges::any_of(fill, [](double value) { return value != 0; })) {
    const at::Tensor inside = sample(at::ones({images.size(0), 1, images.size(2), images.size(3)}, out.options()));
    out += (1 - inside) * at::tensor(fill, out.options()).view({-1, 1, 1});
  }
  if (images.scalar_type() == at::kByte) out.round_().clamp_(0, 255);
  return out.to(images.scalar_type());
}

}  // namespace levin::data
