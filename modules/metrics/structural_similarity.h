#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/row_metric.h>

#include <optional>
#include <utility>
#include <vector>

namespace levin {
namespace metrics {

/// How the factors of MultiScaleStructuralSimilarity are kept from being negative: by 0, by (1 + x) / 2, or not at all.
enum class SimilarityNormalize : uint8_t { Relu, Simple, None };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::SimilarityNormalize> =
    words_of<metrics::SimilarityNormalize>({{"relu", metrics::SimilarityNormalize::Relu},
                                            {"simple", metrics::SimilarityNormalize::Simple},
                                            {"none", metrics::SimilarityNormalize::None}});

namespace metrics {

/// Arguments of StructuralSimilarityIndexMeasure, with torchmetrics' names and defaults; the window is Gaussian.
struct StructuralSimilarityOptions {
  double sigma = LEVIN_OPTION(sigma, 1.5, "Standard deviation of the Gaussian window, in pixels", {.exclusive_min = 0});
  Choice<RowReduction> reduction =
      LEVIN_OPTION(reduction, RowReduction::Mean, "How images become one value; none: one value each");
  std::optional<double> data_range =
      LEVIN_OPTION(data_range, {}, "Largest difference of two values; unset: that of the batch", {.exclusive_min = 0});
  double k1 = LEVIN_OPTION(k1, 0.01, "Keeps the quotient of means finite", {.exclusive_min = 0});
  double k2 = LEVIN_OPTION(k2, 0.03, "Keeps the quotient of variances finite", {.exclusive_min = 0});
};

/// Arguments of MultiScaleStructuralSimilarityIndexMeasure, with torchmetrics' names and defaults.
struct MultiScaleStructuralSimilarityOptions {
  double sigma = LEVIN_OPTION(sigma, 1.5, "Standard deviation of the Gaussian window, in pixels", {.exclusive_min = 0});
  Choice<RowReduction> reduction =
      LEVIN_OPTION(reduction, RowReduction::Mean, "How images become one value; none: one value each");
  std::optional<double> data_range =
      LEVIN_OPTION(data_range, {}, "Largest difference of two values; unset: that of the batch", {.exclusive_min = 0});
  double k1 = LEVIN_OPTION(k1, 0.01, "Keeps the quotient of means finite", {.exclusive_min = 0});
  double k2 = LEVIN_OPTION(k2, 0.03, "Keeps the quotient of variances finite", {.exclusive_min = 0});
  std::vector<double> betas = LEVIN_OPTION(betas, (std::vector<double>{0.0448, 0.2856, 0.3001, 0.2363, 0.1333}),
                                           "Exponent of each scale; each halves the image");
  Choice<SimilarityNormalize> normalize =
      LEVIN_OPTION(normalize, SimilarityNormalize::Relu, "What is done to factors below 0");
};

/// The structural similarity of images, from the means, variances and covariances in a window around each pixel; images
/// are mirrored at their borders.
///
/// `update` takes preds and target [batch, channels, height, width] or [batch, channels, depth, height, width],
/// floating, larger than half the window. Result: see RowMetric.
/// Source: Wang et al. (2004), https://lightning.ai/docs/torchmetrics/stable/image/structural_similarity.html
class StructuralSimilarityIndexMeasure final : public Cloneable<StructuralSimilarityIndexMeasure, RowMetric> {
 public:
  using Options = StructuralSimilarityOptions;
  /// Throws levin::UsageError for bad options.
  explicit StructuralSimilarityIndexMeasure(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;

  Options options_;
};

/// The product of the structural similarity of the image halved several times and of the contrasts before.
///
/// `update` takes inputs as StructuralSimilarityIndexMeasure does; the smallest scale is larger than half the
/// window. Result: see RowMetric.
/// Source: Wang et al. (2003),
/// https://lightning.ai/docs/torchmetrics/stable/image/multi_scale_structural_similarity.html
class MultiScaleStructuralSimilarityIndexMeasure final
    : public Cloneable<MultiScaleStructuralSimilarityIndexMeasure, RowMetric> {
 public:
  using Options = MultiScaleStructuralSimilarityOptions;
  /// Throws levin::UsageError for bad options.
  explicit MultiScaleStructuralSimilarityIndexMeasure(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;

  Options options_;
};

}  // namespace metrics
}  // namespace levin
