#include <levin/modules/metrics/engine/gaussian_similarity.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/reflection_pad3d.h>
#include <levin/core/system/error.h>

#include <vector>

namespace levin::metrics {
namespace {

/// Returns a normalised Gaussian of an odd size that holds 3.5 standard deviations on each side.
at::Tensor gaussian(double sigma, const at::TensorOptions& options) {
  const auto half = static_cast<int64_t>(3.5 * sigma + 0.5);
  const at::Tensor place = at::arange(-half, half + 1, options.dtype(at::kDouble));
  const at::Tensor value = (-(place / sigma).square() / 2).exp();
  return (value / value.sum()).to(options.dtype());
}

/// Returns the averages by the window around each pixel; images are mirrored at their borders. One dimension after
/// another.
at::Tensor windowed(const at::Tensor& images, const at::Tensor& window) {
  const int64_t channels = images.size(1), spatial = images.dim() - 2, border = window.size(0) / 2;
  const std::vector<int64_t> borders(static_cast<size_t>(2 * spatial), border);
  at::Tensor result = spatial == 2 ? at::reflection_pad2d(images, borders) : at::reflection_pad3d(images, borders);
  for (int64_t d = 0; d < spatial; ++d) {
    std::vector<int64_t> shape(static_cast<size_t>(images.dim()), 1);
    shape[static_cast<size_t>(d) + 2] = window.size(0);
    std::vector<int64_t> repeated = shape;
    repeated[0] = channels;
    const at::Tensor kernel = window.reshape(shape).expand(repeated).contiguous();
    result = spatial == 2 ? at::conv2d(result, kernel, {}, 1, at::IntArrayRef{0}, 1, channels)
                          : at::conv3d(result, kernel, {}, 1, at::IntArrayRef{0}, 1, channels);
  }
  return result;
}

}  // namespace

void check_images(const char* metric, const at::Tensor& preds, const at::Tensor& target) {
  if ((preds.dim() != 4 && preds.dim() != 5) || preds.sizes() != target.sizes() || !preds.is_floating_point() ||
      !target.is_floating_point())
    throw UsageError(metric, ": expected floating images of one shape, [batch, channels, height, width], got ",
                     preds.sizes(), " ", preds.scalar_type(), " and ", target.sizes(), " ", target.scalar_type());
}

Similarity gaussian_similarity(const SimilarityOptions& options, const at::Tensor& preds, const at::Tensor& target) {
  const at::Tensor window = gaussian(options.sigma, preds.options());
  const int64_t border = window.size(0) / 2;
  for (int64_t d = 2; d < preds.dim(); ++d)
    if (preds.size(d) <= border)
      throw UsageError(options.metric, ": an image of ", preds.sizes().slice(2), " is smaller than half the window of ",
                       window.size(0), "; use a smaller sigma, or fewer scales");
  at::Tensor range = at::maximum(preds.max() - preds.min(), target.max() - target.min());
  if (options.data_range) range = at::full_like(range, *options.data_range);
  const at::Tensor c1 = (options.k1 * range).square(), c2 = (options.k2 * range).square();

  const int64_t n = preds.size(0);
  const at::Tensor averages =
      windowed(at::cat({preds, target, preds * preds, target * target, preds * target}), window);
  const auto part = [&](int64_t i) { return averages.narrow(0, i * n, n); };
  const at::Tensor x = part(0), y = part(1);
  const at::Tensor x_variance = (part(2) - x * x).clamp_min(0), y_variance = (part(3) - y * y).clamp_min(0);
  const at::Tensor covariance = part(4) - x * y;
  const at::Tensor contrast = (2 * covariance + c2) / (x_variance + y_variance + c2);
  const at::Tensor whole = (2 * x * y + c1) / (x * x + y * y + c1) * contrast;
  at::Tensor inner = contrast;  // without the mirrored borders, as in torchmetrics
  for (int64_t d = 2; d < inner.dim(); ++d)
    if (inner.size(d) > 2 * border) inner = inner.narrow(d, border, inner.size(d) - 2 * border);
  return {.whole = whole.flatten(1).mean(1), .contrast = inner.flatten(1).mean(1)};
}

}  // namespace levin::metrics
