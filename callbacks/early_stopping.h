#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/metric_mode.h>
#include <levin/core/options/option.h>

#include <optional>
#include <string>

namespace levin {

struct EarlyStoppingOptions {
  std::string monitor = LEVIN_OPTION(monitor, "", "Metric to watch; required");
  double min_delta = LEVIN_OPTION(min_delta, 0, "Smallest change that counts as an improvement", {.min = 0});
  int64_t patience = LEVIN_OPTION(patience, 3, "Checks without improvement before the run ends", {.min = 0});
  bool verbose = LEVIN_OPTION(verbose, false, "Print each improvement");
  Choice<MetricMode> mode = LEVIN_OPTION(mode, MetricMode::Min, "min: lower is better; max: higher is better");
  bool strict = LEVIN_OPTION(strict, true, "Throw if the metric was not logged; false: continue");
  bool check_finite = LEVIN_OPTION(check_finite, true, "End the run when the metric is NaN or infinite");
  std::optional<double> stopping_threshold =
      LEVIN_OPTION(stopping_threshold, {}, "End the run once the metric is better than this");
  std::optional<double> divergence_threshold =
      LEVIN_OPTION(divergence_threshold, {}, "End the run once the metric is worse than this");
  std::optional<bool> check_on_train_epoch_end =
      LEVIN_OPTION(check_on_train_epoch_end, {}, "Check at the end of train epochs; false: after validations");
};

/// Stops the run when a metric has stopped improving.
///
/// The metric is read after each validation. If validation runs once per epoch (or not at all), it is read at the end
/// of the train epoch, so that training metrics can be monitored as well. A check before min_epochs
/// and min_steps are reached counts, but does not end the run; the next check decides again. Source:
/// lightning.pytorch.callbacks.EarlyStopping
class EarlyStopping : public Callback {
 public:
  using Options = EarlyStoppingOptions;

  /// Throws UsageError for bad options, or without `monitor`.
  explicit EarlyStopping(EarlyStoppingOptions options);

  void on_validation_end(Run& run) override;
  void on_train_epoch_end(Run& run) override;
  /// Warns if the metric never came, so that nothing could stop the run.
  void on_fit_end(Run& run) override;
  bool is_monitoring() const override { return true; }

  std::string state_key() const override;
  /// The keys are PyTorch Lightning's: wait_count, stopped_epoch, best_score, patience.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  /// Returns the number of checks since the last improvement.
  int64_t wait_count() const { return wait_count_; }
  /// Returns the best value so far; infinite before the first check.
  double best_score() const { return best_score_; }
  /// Returns the epoch in which the callback stopped the run; 0 before.
  int64_t stopped_epoch() const { return stopped_epoch_; }

 private:
  bool checks_train_epochs(Run& run) const;
  void check(Run& run);
  std::optional<std::string> reason_to_stop(double value);

  EarlyStoppingOptions options_;
  int64_t wait_count_ = 0, stopped_epoch_ = 0;
  double best_score_;
  bool has_come_ = false;  ///< a value of the metric, in this run or one that it resumes
};

}  // namespace levin
