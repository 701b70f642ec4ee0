#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/metric.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace levin::metrics {

/// Arguments of ExactMatch, with torchmetrics' names and defaults.
struct ExactMatchOptions {
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
};

/// The share of samples of which every element is predicted: of token sequences, those that are right as a whole.
///
/// `update` takes preds and target of one shape [samples, ...], integers; or preds [samples, classes, ...], floating
/// point, whose largest class counts. A sample without a target that counts is a match, as in torchmetrics. compute: a
/// scalar, NaN without samples.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/exact_match.html (multiclass, global)
class ExactMatch final : public Cloneable<ExactMatch> {
 public:
  using Options = ExactMatchOptions;
  explicit ExactMatch(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  Options options_;
  size_t correct_, total_;
};

}  // namespace levin::metrics
