#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>

namespace levin {
namespace metrics {

/// How the values of rows become one value; None: one value each.
enum class RowReduction : uint8_t { Sum, Mean, None };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::RowReduction> =
    words_of<metrics::RowReduction>({{"sum", metrics::RowReduction::Sum},
                                     {"mean", metrics::RowReduction::Mean},
                                     {"none", metrics::RowReduction::None}});

namespace metrics {

/// Arguments of CosineSimilarity, with torchmetrics' names and defaults.
struct CosineSimilarityOptions {
  Choice<RowReduction> reduction =
      LEVIN_OPTION(reduction, RowReduction::Sum, "How rows become one value; none: one value each");
};

/// The cosine of the angle between the rows of preds and target, both [batch, features].
///
/// Only the sum is stored, or with reduction "none" one value per row. compute: a scalar, or [rows]; NaN for rows of
/// zeros and for the mean of no rows. Source:
/// https://lightning.ai/docs/torchmetrics/stable/regression/cosine_similarity.html
class CosineSimilarity final : public Cloneable<CosineSimilarity> {
 public:
  using Options = CosineSimilarityOptions;
  /// Throws levin::UsageError for bad options.
  explicit CosineSimilarity(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  Options options_;
  size_t total_ = 0, count_ = 0, values_ = 0;
};

}  // namespace metrics
}  // namespace levin
