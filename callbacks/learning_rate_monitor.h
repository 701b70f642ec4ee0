#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/option.h>
#include <levin/modules/lr_schedulers/interval.h>

#include <optional>
#include <string>
#include <vector>

namespace levin {

struct LearningRateMonitorOptions {
  std::optional<Choice<Interval>> logging_interval =
      LEVIN_OPTION(logging_interval, {}, "Log by step or by epoch; unset: by step", {.choices = {"epoch", "step"}});
  bool log_momentum = LEVIN_OPTION(log_momentum, false, "Log momentum or beta1 too, as lr-SGD-momentum");
  bool log_weight_decay = LEVIN_OPTION(log_weight_decay, false, "Log the weight decay too, as lr-SGD-weight_decay");
};

/// Logs the learning rate of each optimizer: `lr-Adam`; `lr-Adam/pg1`, `lr-Adam/pg2` for several parameter groups, and
/// `lr-Adam-1` for a second Adam. A group that joins later is `lr-Adam/pg2` from then on, and the first one keeps its
/// name. Source: lightning.pytorch.callbacks.LearningRateMonitor
class LearningRateMonitor : public Callback {
 public:
  using Options = LearningRateMonitorOptions;

  LearningRateMonitor() = default;
  /// Throws UsageError for bad options.
  explicit LearningRateMonitor(LearningRateMonitorOptions options);
  void setup(Run& run) override;
  void on_train_start(Run& run) override;
  void on_train_batch_start(Run& run) override;
  void on_train_epoch_start(Run& run) override;

  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  struct Names {
    std::string optimizer = {};
    std::vector<std::string> groups = {};
  };
  Interval interval() const { return options_.logging_interval.value_or(Interval::Step); }
  const std::vector<std::string>& names_of_groups(size_t optimizer, size_t count);
  void log(Run& run, bool on_step);

  LearningRateMonitorOptions options_ = {};
  std::vector<Names> names_ = {};         ///< by optimizer
  std::vector<int64_t> begun_with_ = {};  ///< numbers of groups at the start of the fit, which name the first one
};

}  // namespace levin
