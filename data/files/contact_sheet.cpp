#include <levin/data/files/contact_sheet.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/zeros_like.h>
#include <levin/core/system/error.h>
#include <levin/data/files/bitmap_font.h>

#include <algorithm>
#include <cmath>

namespace levin::data {
namespace {

/// Limits of the longer side, in pixels: smaller images than the first are enlarged, larger ones than the second
/// reduced.
constexpr int64_t kEnlarged = 96, kReduced = 256;
constexpr int64_t kGap = 6;

at::Tensor to_bytes(const at::Tensor& images) {
  if (images.scalar_type() == at::kByte) return images;
  if (images.scalar_type() == at::kBool) return images.to(at::kByte) * 255;
  const at::Tensor values = images.to(at::kDouble), finite = at::isfinite(values);
  const at::Tensor shown = values.masked_select(finite);
  if (shown.numel() == 0) return at::zeros_like(images, at::TensorOptions(at::kByte));
  const auto low = shown.min().item<double>(), high = shown.max().item<double>();
  const double range = high > low ? high - low : 1;
  return ((values - low) * (255 / range)).round_().masked_fill_(finite.logical_not(), 0).to(at::kByte);
}

/// Resizes images to the size in which they are drawn: [samples, 3, height, width].
at::Tensor drawn_size(const at::Tensor& bytes) {
  const int64_t height = bytes.size(2), width = bytes.size(3), side = std::max(height, width);
  at::Tensor images = bytes.expand({bytes.size(0), 3, height, width});
  if (side > kReduced) {
    return at::_upsample_bilinear2d_aa(
        images.contiguous(),
        {std::max<int64_t>(1, height * kReduced / side), std::max<int64_t>(1, width * kReduced / side)},
        /*align_corners=*/false);
  }
  const int64_t factor = std::max<int64_t>(1, kEnlarged / side);
  return images.repeat_interleave(factor, 2).repeat_interleave(factor, 3);
}

}  // namespace

bool can_be_drawn(const at::Tensor& images) {
  if (!images.defined() || images.dim() != 4 || images.numel() == 0) return false;
  const bool is_shown = images.scalar_type() == at::kByte || images.scalar_type() == at::kBool ||
                        at::isFloatingType(images.scalar_type());
  return is_shown && (images.size(1) == 1 || images.size(1) == 3);
}

at::Tensor contact_sheet(const at::Tensor& images, const std::vector<std::string>& labels, int64_t most_images) {
  if (!can_be_drawn(images)) {
    throw UsageError("contact_sheet: needs images [samples, 1 or 3, height, width] of uint8 or floating point, got ",
                     images.defined() ? c10::str(images.scalar_type(), " ", images.sizes()) : "nothing");
  }
  if (static_cast<int64_t>(labels.size()) != images.size(0)) {
    throw UsageError("contact_sheet: ", images.size(0), " images, but ", labels.size(), " labels");
  }
  const int64_t count = std::min(images.size(0), std::max<int64_t>(1, most_images));
  const at::Tensor drawn = drawn_size(to_bytes(images.cpu()).narrow(0, 0, count));
  const int64_t height = drawn.size(2), width = drawn.size(3);
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const int64_t rows = (count + columns - 1) / columns;
  const int64_t text_scale = width >= 2 * kEnlarged ? 2 : 1;
  const int64_t cell_width = std::max(width, kEnlarged) + kGap,
                cell_height = height + kGap / 2 + kGlyphHeight * text_scale + kGap;
  at::Tensor sheet =
      at::full({3, kGap + rows * cell_height, kGap + columns * cell_width}, 255, at::TensorOptions(at::kByte));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t top = kGap + i / columns * cell_height, left = kGap + i % columns * cell_width;
    sheet.narrow(1, top, height).narrow(2, left, width).copy_(drawn[i]);
    draw_text(sheet, top + height + kGap / 2, left,
              fitting_text(labels[static_cast<size_t>(i)], cell_width - kGap, text_scale), text_scale, 0);
  }
  return sheet;
}

}  // namespace levin::data
