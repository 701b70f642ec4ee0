#pragma once
#include <levin/modules/metrics/confusion_matrix.h>

namespace levin {
namespace metrics {

/// How much a confusion of two classes weighs: as much as any other, by their distance, or by its square.
enum class KappaWeights : uint8_t { None, Linear, Quadratic };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::KappaWeights> =
    words_of<metrics::KappaWeights>({{"none", metrics::KappaWeights::None},
                                     {"linear", metrics::KappaWeights::Linear},
                                     {"quadratic", metrics::KappaWeights::Quadratic}});

namespace metrics {

/// Arguments of CohenKappa, with torchmetrics' names and defaults.
struct CohenKappaOptions {
  std::optional<Choice<TaskKind>> task =
      LEVIN_OPTION(task, {}, "Kind of classification; required", {.choices = {"binary", "multiclass"}});
  double threshold = LEVIN_OPTION(threshold, 0.5, "Binary: probabilities above it mean 1", {.min = 0, .max = 1});
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  Choice<KappaWeights> weights =
      LEVIN_OPTION(weights, KappaWeights::None, "Weight of a confusion: by the classes' distance or its square");
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
};

/// The agreement of true and predicted classes beyond that of chance: 1 at most, 0 for chance.
///
/// compute: a scalar; NaN if only one class came.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/cohen_kappa.html
class CohenKappa final : public Cloneable<CohenKappa, ConfusionCounts> {
 public:
  using Options = CohenKappaOptions;
  /// Throws levin::UsageError for bad options.
  explicit CohenKappa(Options options);

 private:
  at::Tensor compute_value() const override;

  KappaWeights weights_;
};

}  // namespace metrics
}  // namespace levin
