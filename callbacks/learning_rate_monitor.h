#pragma once
#include <levin/callbacks/callback.h>
#include <levin/trainer/core/options/option.h>

#include <optional>
#include <string>
#include <vector>

namespace levin {

struct LearningRateMonitorOptions {
  std::optional<std::string> logging_interval =
      LEVIN_OPTION(logging_interval, {}, "Log by step or by epoch; unset: by step", {.choices = {"step", "epoch"}});
  bool log_momentum = LEVIN_OPTION(log_momentum, false, "Log momentum or beta1 too, as lr-SGD-momentum");
  bool log_weight_decay = LEVIN_OPTION(log_weight_decay, false, "Log the weight decay too, as lr-SGD-weight_decay");
};

/// Logs the learning rate of each optimizer: `lr-Adam`; `lr-Adam/pg1`, `lr-Adam/pg2` for several parameter groups, and
/// `lr-Adam-1` for a second Adam. Source: lightning.pytorch.callbacks.LearningRateMonitor
class LearningRateMonitor : public Callback {
 public:
  using Options = LearningRateMonitorOptions;

  LearningRateMonitor() = default;
  /// Throws UsageError for bad options.
  explicit LearningRateMonitor(LearningRateMonitorOptions options);
  void on_train_start(Run& run) override;
  void on_train_batch_start(Run& run) override;
  void on_train_epoch_start(Run& run) override;

 private:
  void log(Run& run, bool on_step) const;

  LearningRateMonitorOptions options_ = {};
  std::vector<std::vector<std::string>> names_ = {};  ///< by optimizer and parameter group
};

}  // namespace levin
