#pragma once
#include <levin/modules/metrics/engine/stat_scores.h>

namespace levin::metrics {

/// Arguments of FBetaScore, with torchmetrics' names and defaults.
struct FBetaScoreOptions {
  std::optional<Choice<TaskKind>> task = LEVIN_OPTION(task, {}, "Kind of classification; required");
  double beta = LEVIN_OPTION(beta, 1, "How many times as much recall counts as precision", {.exclusive_min = 0});
  double threshold =
      LEVIN_OPTION(threshold, 0.5, "Binary and multilabel: probabilities above it mean 1", {.min = 0, .max = 1});
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  std::optional<int64_t> num_labels = LEVIN_OPTION(num_labels, {}, "Labels, for multilabel", {.min = 2});
  Choice<ClassAverage> average =
      LEVIN_OPTION(average, ClassAverage::Micro, "How classes become one value; none: one value each");
  int64_t top_k =
      LEVIN_OPTION(top_k, 1, "Multiclass: the target counts as found among the k highest scores", {.min = 1});
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
  double zero_division = LEVIN_OPTION(zero_division, 0, "Value of 0 / 0", {.min = 0, .max = 1});
};

/// (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp): the weighted harmonic mean of precision and recall. Inputs and
/// result: see StatScores.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/fbeta_score.html
class FBetaScore final : public Cloneable<FBetaScore, StatScores> {
 public:
  using Options = FBetaScoreOptions;
  /// Throws levin::UsageError for bad options.
  explicit FBetaScore(const Options& options);

 private:
  at::Tensor score(const StatCounts& counts) const override;

  double beta_squared_;
};

}  // namespace levin::metrics
