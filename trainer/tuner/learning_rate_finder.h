#pragma once
#include <levin/callbacks/before_fit.h>
#include <levin/callbacks/callback.h>
#include <levin/trainer/tuner/lr_find.h>
#include <levin/trainer/tuner/lr_growth.h>

#include <optional>

namespace levin {

struct LearningRateFinderOptions {
  double min_lr = LEVIN_OPTION(min_lr, 1e-8, "Rate of the first step", {.min = 0});
  double max_lr = LEVIN_OPTION(max_lr, 1, "Rate of the last step", {.min = 0});
  int64_t num_training_steps =
      LEVIN_OPTION(num_training_steps, 100, "Optimizer steps, each with another rate", {.min = 13});
  Choice<LRGrowth> mode = LEVIN_OPTION(mode, LRGrowth::Exponential, "How the rate grows");
  std::optional<double> early_stop_threshold =
      LEVIN_OPTION(early_stop_threshold, 4.0,
                   "End where the smoothed loss is n times the best, or not finite; unset: never", {.min = 0});
  bool update_attr = LEVIN_OPTION(update_attr, true, "Fit with the suggested rate");
};

/// Looks for a learning rate (levin::lr_find) at the start of each fit that is not resumed, and fits with it. A resumed
/// fit keeps the rates of its checkpoint. Source: lightning.pytorch.callbacks.LearningRateFinder
class LearningRateFinder : public Callback, public BeforeFit {
 public:
  using Options = LearningRateFinderOptions;

  LearningRateFinder() = default;
  /// Throws UsageError for bad options.
  explicit LearningRateFinder(LearningRateFinderOptions options);
  /// Throws as lr_find.
  void before_fit(Trainer& trainer, const ModuleRef& module, const RunInputs& inputs) override;

  /// Returns the result of the last search; unset before the first.
  const std::optional<LRFindResult>& optimal_lr() const { return found_; }

 private:
  LearningRateFinderOptions options_ = {};
  std::optional<LRFindResult> found_ = {};
};

}  // namespace levin
