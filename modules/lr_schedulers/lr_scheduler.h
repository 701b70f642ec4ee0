#pragma once
#include <levin/trainer/core/option.h>
#include <levin/trainer/core/state.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin {

/// A learning-rate scheduler bound to an optimizer: sets the rate of each parameter group, as Python's
/// torch.optim.lr_scheduler does. Made by the trainer from an LRSchedulerSpec.
///
/// The constructor of a derived class calls `start()` last, which is Python's initial step.
class LRScheduler {
 public:
  /// The optimizer must outlive the scheduler.
  explicit LRScheduler(torch::optim::Optimizer& optimizer);
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  /// Goes one epoch (or one step, where its interval is "step") further and sets the rates.
  virtual void step();
  /// The same for schedulers that follow a metric; the others ignore the value.
  virtual void step(double metric);
  /// True for schedulers whose step needs a metric (ReduceLROnPlateau).
  virtual bool needs_metric() const { return false; }

  /// Number of calls of step(), 0 after construction; Python's name.
  int64_t last_epoch() const { return last_epoch_; }
  /// The rate of each group, as last set.
  std::vector<double> last_lr() const;

  /// Keys as in Python's state dicts: last_epoch, base_lrs, and those of the derived class. The rates themselves are
  /// part of the optimizer's state.
  virtual State state_dict() const;
  virtual void load_state_dict(const State& state);

 protected:
  /// Sets the rates of epoch 0.
  void start();
  /// The rate of each group for `last_epoch()`; `current` holds the rates now set.
  virtual std::vector<double> next_lr(const std::vector<double>& current) = 0;

  torch::optim::Optimizer& optimizer_;
  std::vector<double> base_lrs_;  ///< rates of the groups at construction
  int64_t last_epoch_ = 0;

 private:
  void set_lr(const std::vector<double>& rates);
};

/// When a scheduler steps; in JSON these keys stand beside the scheduler's own.
struct LRSchedulerConfig {
  std::string interval = LEVIN_OPTION(interval, "epoch", "Step the scheduler by epoch or by optimizer step",
                                      {.choices = {"epoch", "step"}});
  int64_t frequency = LEVIN_OPTION(frequency, 1, "Step the scheduler every so many intervals", {.min = 1});
  std::string monitor = LEVIN_OPTION(monitor, "val_loss", "Metric for schedulers that follow one");
};

/// What is known of the run when schedulers are bound.
struct LRSchedulerContext {
  /// Optimizer steps of the whole run; unset where it has no known end. Asking makes the training loader. May be empty.
  std::function<std::optional<int64_t>()> total_steps = {};
};

/// A scheduler that is not bound yet: what `configure_optimizers` returns beside the optimizer.
class LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for an interval or frequency that is out of its limits.
  explicit LRSchedulerSpec(LRSchedulerConfig config_);
  virtual ~LRSchedulerSpec() = default;
  /// Throws levin::UsageError where options do not fit the optimizer or the run.
  virtual std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                            const LRSchedulerContext& context) const = 0;

  LRSchedulerConfig config;
};

}  // namespace levin
