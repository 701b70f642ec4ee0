#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/row_metric.h>

namespace levin::metrics {

/// Arguments of CosineSimilarity, with torchmetrics' names and defaults.
struct CosineSimilarityOptions {
  Choice<RowReduction> reduction =
      LEVIN_OPTION(reduction, RowReduction::Sum, "How rows become one value; none: one value each");
};

/// The cosine of the angle between the rows of preds and target, both [batch, features]; NaN for rows of zeros. Result:
/// see RowMetric. Source: https://lightning.ai/docs/torchmetrics/stable/regression/cosine_similarity.html
class CosineSimilarity final : public Cloneable<CosineSimilarity, RowMetric> {
 public:
  using Options = CosineSimilarityOptions;
  /// Throws levin::UsageError for bad options.
  explicit CosineSimilarity(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
};

}  // namespace levin::metrics
