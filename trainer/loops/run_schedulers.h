#pragma once
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/fit_control.h>
#include <levin/trainer/loops/training_step.h>
#include <levin/trainer/run/run_context.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace levin {

/// Steps the learning-rate schedulers of a fit as their configs ask for: by optimizer step or by epoch, with or without
/// a metric. A validation's metric counts once for each scheduler. Under manual optimization the module steps its
/// schedulers, and only a scheduler that a callback brings is stepped here.
class RunSchedulers {
 public:
  /// `run` must outlive the object.
  explicit RunSchedulers(RunContext& run) : run_(run), controls_(callbacks_of<FitControl>(run.parts.callbacks)) {}

  /// Steps the schedulers of this interval that follow no metric. Call before the counters advance.
  void step(Interval interval) { step(interval, /*following_metric=*/false); }
  /// Adds the weight of a step to the run's tokens, unless the step was skipped, and steps the schedulers that count
  /// them. Throws levin::UsageError if there is one, and training_step returns no weight.
  void count_tokens(const TrainingStep::Outcome& outcome);
  /// Steps the schedulers of this interval that follow a metric. Call after a validation. Collective if there is one,
  /// since the metric is read over all ranks. Throws levin::UsageError if a strict scheduler's metric was not logged.
  void step_with_metric(Interval interval) { step(interval, /*following_metric=*/true); }

 private:
  void step(Interval interval, bool following_metric);
  void step_one(LRScheduler& scheduler, std::optional<double> metric);
  /// Returns whether the metric comes from validations, and none has ended since the scheduler last stepped, after
  /// validation number `stepped_at`. Collective if it may be the first.
  bool awaits_validation(const LRSchedulerConfig& config, int64_t stepped_at) const;
  /// Returns the newest value of the metric that a scheduler follows. Without a value it throws if the scheduler is
  /// strict, and otherwise warns.
  std::optional<double> monitored(const LRSchedulerConfig& config);

  /// Returns the scheduler of a callback that steps in place of all others; null without one.
  LRScheduler* replacement() const;

  RunContext& run_;
  std::vector<FitControl*> controls_;
};

}  // namespace levin
