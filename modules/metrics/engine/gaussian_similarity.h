#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace levin::metrics {

/// How two images are compared: see StructuralSimilarityOptions.
struct SimilarityOptions {
  const char* metric = "";  ///< the metric's name, for error messages
  double sigma = 1.5;
  std::optional<double> data_range = {};
  double k1 = 0.01, k2 = 0.03;
};

/// The similarity of each pair of images, and the part of it that comes from variances and covariance: [batch].
struct Similarity {
  at::Tensor whole = {}, contrast = {};
};

/// Compares images [batch, channels, height, width] or [batch, channels, depth, height, width], float32 or float64.
/// Throws levin::UsageError for images that are smaller than half the window.
Similarity gaussian_similarity(const SimilarityOptions& options, const at::Tensor& preds, const at::Tensor& target);

/// Throws levin::UsageError unless preds and target are floating images of one shape.
void check_images(const char* metric, const at::Tensor& preds, const at::Tensor& target);

}  // namespace levin::metrics
