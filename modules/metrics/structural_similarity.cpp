#include <levin/modules/metrics/structural_similarity.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <levin/core/system/error.h>
#include <levin/modules/metrics/engine/gaussian_similarity.h>

#include <utility>

namespace levin::metrics {
namespace {

constexpr const char* kSingle = "StructuralSimilarityIndexMeasure";
constexpr const char* kMultiple = "MultiScaleStructuralSimilarityIndexMeasure";

template <class Options>
RowReduction checked_reduction(const Options& options, const char* metric) {
  schema_of<Options>().check(&options, metric);
  return options.reduction;
}

template <class Options>
SimilarityOptions similarity_options(const Options& options, const char* metric) {
  return {
      .metric = metric, .sigma = options.sigma, .data_range = options.data_range, .k1 = options.k1, .k2 = options.k2};
}

at::Tensor halved(const at::Tensor& images) {
  return images.dim() == 4 ? at::avg_pool2d(images, 2) : at::avg_pool3d(images, 2);
}

at::Tensor normalized(const at::Tensor& factor, SimilarityNormalize how) {
  if (how == SimilarityNormalize::Relu) return factor.clamp_min(0);
  return how == SimilarityNormalize::Simple ? (factor + 1) / 2 : factor;
}

at::Tensor widened(const at::Tensor& images) {
  return images.scalar_type() == at::kDouble ? images : images.to(at::kFloat);
}

}  // namespace

StructuralSimilarityIndexMeasure::StructuralSimilarityIndexMeasure(Options options)
    : Cloneable(checked_reduction(options, kSingle)), options_(std::move(options)) {}

void StructuralSimilarityIndexMeasure::update_states(const at::Tensor& preds, const at::Tensor& target) {
  check_images(kSingle, preds, target);
  count(gaussian_similarity(similarity_options(options_, kSingle), widened(preds), widened(target)).whole);
}

MultiScaleStructuralSimilarityIndexMeasure::MultiScaleStructuralSimilarityIndexMeasure(Options options)
    : Cloneable(checked_reduction(options, kMultiple)), options_(std::move(options)) {
  if (options_.betas.empty()) throw UsageError(kMultiple, ".betas: expected an exponent for each scale, got none");
}

void MultiScaleStructuralSimilarityIndexMeasure::update_states(const at::Tensor& preds, const at::Tensor& target) {
  check_images(kMultiple, preds, target);
  at::Tensor left = widened(preds), right = widened(target), product;
  for (size_t scale = 0; scale < options_.betas.size(); ++scale) {
    if (scale > 0) {
      left = halved(left);
      right = halved(right);
    }
    const Similarity similarity = gaussian_similarity(similarity_options(options_, kMultiple), left, right);
    const bool last = scale + 1 == options_.betas.size();
    const at::Tensor factor =
        normalized(last ? similarity.whole : similarity.contrast, options_.normalize).pow(options_.betas[scale]);
    product = product.defined() ? product * factor : factor;
  }
  count(product);
}

}  // namespace levin::metrics
