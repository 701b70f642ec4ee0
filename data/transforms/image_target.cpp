#include <levin/data/transforms/image_target.h>
#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>
#include <levin/data/transforms/engine/image_batch.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

/// Where the point (x, y) goes: (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]), from the upper left corner.
using PointMap = std::array<double, 6>;

/// The class of what a mask does not show.
constexpr auto kOutside = static_cast<double>(kIgnoredTarget);

/// Moves boxes by `map`, cuts them at the edges of images of this size, and removes those of which less than one pixel
/// is left.
void move_boxes(ImageTarget& target, const PointMap& map, double height, double width) {
  if (!target.boxes.defined()) return;
  const int64_t count = target.boxes.size(0);
  at::Tensor boxes = at::empty({count, 4}, target.boxes.options()), kept = at::empty({count}, at::kLong);
  const float* from = target.boxes.const_data_ptr<float>();
  float* to = boxes.mutable_data_ptr<float>();
  int64_t* rows = kept.mutable_data_ptr<int64_t>();
  int64_t left = 0;
  for (int64_t i = 0; i < count; ++i, from += 4) {
    std::array<double, 4> xs = {}, ys = {};
    for (size_t corner = 0; corner < 4; ++corner) {
      const double x = from[corner % 2 == 0 ? 0 : 2], y = from[corner < 2 ? 1 : 3];
      xs[corner] = std::clamp(map[0] * x + map[1] * y + map[2], 0.0, width);
      ys[corner] = std::clamp(map[3] * x + map[4] * y + map[5], 0.0, height);
    }
    const auto [x1, x2] = std::ranges::minmax(xs);
    const auto [y1, y2] = std::ranges::minmax(ys);
    if (!(x2 - x1 >= 1 && y2 - y1 >= 1)) continue;
    to = std::ranges::copy(std::array<double, 4>{x1, y1, x2, y2}, to).out;
    rows[left++] = i;
  }
  target.boxes = boxes.narrow(0, 0, left);
  if (target.labels.defined()) target.labels = target.labels.index_select(0, kept.narrow(0, 0, left));
}

/// Returns the masks as images of one channel of the floating-point type in which `images` are moved. Throws
/// levin::Error for classes that it does not hold exactly.
at::Tensor mask_images(const ImageTarget& target) {
  constexpr int64_t kMostClass = int64_t{1} << 24;
  if (target.masks.numel() > 0 && target.masks.abs().max().item<int64_t>() > kMostClass)
    throw Error("transforms: the field `mask` has classes beyond ", kMostClass);
  const at::ScalarType type = target.images.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return target.masks.unsqueeze(1).to(type);
}

void check_target(const ImageTarget& target, const char* transform) {
  const at::Tensor &masks = target.masks, &boxes = target.boxes, &labels = target.labels;
  const auto fails = [&](const char* field, const char* needed, const at::Tensor& got) {
    throw Error(transform, ": needs `", field, "` as ", needed, ", got ", describe(got), " for images ",
                describe(target.images));
  };
  if (masks.defined() &&
      !(masks.dim() == 3 && masks.scalar_type() == at::kLong && masks.is_cpu() &&
        masks.size(0) == target.images.size(0) && masks.size(1) == target.height() && masks.size(2) == target.width()))
    fails("mask", "int64 [samples, height, width] of the images' size on the CPU", masks);
  if (boxes.defined() && !(boxes.dim() == 2 && boxes.size(1) == 4 && boxes.scalar_type() == at::kFloat &&
                           boxes.is_cpu() && target.images.size(0) == 1))
    fails("boxes", "float32 [boxes, 4] on the CPU, of a batch of one sample", boxes);
  if (boxes.defined() && labels.defined() && (labels.dim() == 0 || labels.size(0) != boxes.size(0) || !labels.is_cpu()))
    fails("labels", "one row for each of the boxes, on the CPU", labels);
}

/// Calls `flip(plane, height, width)` for each plane of the chosen images.
template <class Flip>
void flip_planes(at::Tensor& images, const std::vector<bool>& chosen, const Flip& flip) {
  const int64_t height = images.size(-2), width = images.size(-1);
  const int64_t planes = images.dim() == 4 ? images.size(1) : 1;
  AT_DISPATCH_FLOATING_TYPES_AND4(at::kByte, at::kLong, at::kHalf, at::kBFloat16, images.scalar_type(), "flip_target",
                                  [&] {
                                    scalar_t* plane = images.mutable_data_ptr<scalar_t>();
                                    for (const bool is_chosen : chosen) {
                                      for (int64_t p = 0; p < planes; ++p, plane += height * width)
                                        if (is_chosen) flip(plane, height, width);
                                    }
                                  });
}

template <class Flip>
void flip_all(ImageTarget& target, const std::vector<bool>& chosen, const Flip& flip) {
  flip_planes(target.images, chosen, flip);
  if (target.masks.defined()) flip_planes(target.masks, chosen, flip);
}

}  // namespace

ImageTarget image_target_of(const Batch& batch, const char* transform) {
  ImageTarget target{.images = images_of(batch, transform)};
  if (batch.contains("mask")) target.masks = batch["mask"];
  if (batch.contains("boxes")) {
    target.boxes = batch["boxes"];
    if (batch.contains("labels")) target.labels = batch["labels"];
  }
  check_target(target, transform);
  if (target.masks.defined()) target.masks = target.masks.contiguous();
  if (target.boxes.defined()) target.boxes = target.boxes.contiguous();
  return target;
}

ImageTarget image_target_of(const Batch& batch, std::span<const Rng> rngs, const char* transform) {
  images_of(batch, rngs, transform);
  return image_target_of(batch, transform);
}

void set_image_target(Batch& batch, const ImageTarget& target) {
  batch.set("input", target.images);
  if (target.masks.defined()) batch.set("mask", target.masks);
  if (target.boxes.defined()) batch.set("boxes", target.boxes);
  if (target.labels.defined()) batch.set("labels", target.labels);
}

void resize_target(ImageTarget& target, std::array<int64_t, 2> size, Interpolation interpolation, bool antialias) {
  const std::vector<Box> whole(static_cast<size_t>(target.images.size(0)),
                               Box{.height = target.height(), .width = target.width()});
  resized_crop_target(target, whole, size, interpolation, antialias);
}

void crop_target(ImageTarget& target, const std::vector<Corner>& corners, std::array<int64_t, 2> size, PaddingMode mode,
                 const std::vector<double>& fill) {
  target.images = windows_of(target.images, corners, size, mode, fill);
  if (target.masks.defined())
    target.masks = windows_of(target.masks.unsqueeze(1), corners, size, mode, {kOutside}).squeeze(1);
  if (corners.empty()) return;
  const PointMap map = {1, 0, -static_cast<double>(corners[0].left), 0, 1, -static_cast<double>(corners[0].top)};
  move_boxes(target, map, static_cast<double>(size[0]), static_cast<double>(size[1]));
}

void resized_crop_target(ImageTarget& target, const std::vector<Box>& windows, std::array<int64_t, 2> size,
                         Interpolation interpolation, bool antialias) {
  const auto resized = [&](const at::Tensor& from, Interpolation how) {
    at::Tensor out = at::empty({from.size(0), from.size(1), size[0], size[1]}, from.options());
    for (size_t i = 0; i < windows.size(); ++i) {
      const Box& box = windows[i];
      const auto row = static_cast<int64_t>(i);
      const at::Tensor window = from.narrow(0, row, 1).narrow(2, box.top, box.height).narrow(3, box.left, box.width);
      resize_into(out.narrow(0, row, 1), window, how, antialias);
    }
    return out;
  };
  target.images = resized(target.images, interpolation);
  if (target.masks.defined())
    target.masks = resized(mask_images(target), Interpolation::Nearest).squeeze(1).to(at::kLong);
  if (windows.empty()) return;
  const Box& box = windows[0];
  const double y_scale = static_cast<double>(size[0]) / static_cast<double>(box.height),
               x_scale = static_cast<double>(size[1]) / static_cast<double>(box.width);
  const PointMap map = {x_scale, 0,       -x_scale * static_cast<double>(box.left),
                        0,       y_scale, -y_scale * static_cast<double>(box.top)};
  move_boxes(target, map, static_cast<double>(size[0]), static_cast<double>(size[1]));
}

void flip_target(ImageTarget& target, const std::vector<bool>& chosen, bool top_and_bottom) {
  const auto height = static_cast<double>(target.height()), width = static_cast<double>(target.width());
  if (top_and_bottom) {
    flip_all(target, chosen, [](auto* plane, int64_t rows, int64_t columns) {
      for (int64_t y = 0; y < rows / 2; ++y)
        std::swap_ranges(plane + y * columns, plane + (y + 1) * columns, plane + (rows - 1 - y) * columns);
    });
  } else {
    flip_all(target, chosen, [](auto* plane, int64_t rows, int64_t columns) {
      for (int64_t y = 0; y < rows; ++y) std::reverse(plane + y * columns, plane + (y + 1) * columns);
    });
  }
  if (chosen.empty() || !chosen[0]) return;
  move_boxes(target, top_and_bottom ? PointMap{1, 0, 0, 0, -1, height} : PointMap{-1, 0, width, 0, 1, 0}, height,
             width);
}

void warp_target(ImageTarget& target, const std::vector<InverseMap>& maps, Interpolation interpolation,
                 const std::vector<double>& fill) {
  target.images = warp(target.images, maps, interpolation, fill);
  if (target.masks.defined())
    target.masks = warp(mask_images(target), maps, Interpolation::Nearest, {kOutside}).squeeze(1).to(at::kLong);
  if (maps.empty()) return;
  // The forward map, from the corner: the map's inverse between two moves of the centre.
  const InverseMap& m = maps[0];
  const auto height = static_cast<double>(target.height()), width = static_cast<double>(target.width());
  const double determinant = m[0] * m[4] - m[1] * m[3], x = width / 2, y = height / 2;
  const double a = m[4] / determinant, b = -m[1] / determinant, c = -m[3] / determinant, d = m[0] / determinant;
  const double from_x = x + m[2], from_y = y + m[5];
  move_boxes(target, {a, b, x - a * from_x - b * from_y, c, d, y - c * from_x - d * from_y}, height, width);
}

}  // namespace levin::data
