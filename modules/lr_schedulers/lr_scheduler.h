#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/core/state/state.h>
#include <levin/modules/lr_schedulers/interval.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin {

/// When a scheduler steps; in JSON these keys are on the same level as the scheduler's own.
struct LRSchedulerConfig {
  Choice<Interval> interval = LEVIN_OPTION(interval, Interval::Epoch,
                                           "Step the scheduler by epoch, by optimizer step, or by token "
                                           "(what the module weighs a step by)");
  int64_t frequency = LEVIN_OPTION(frequency, 1, "Step the scheduler every n intervals", {.min = 1});
  std::string monitor = LEVIN_OPTION(monitor, "val_loss", "Metric for schedulers that follow one");
  bool strict = LEVIN_OPTION(strict, true, "A monitor that was not logged is an error; false: warn and do not step");
};

/// Facts about the run, passed to `bind`; a scheduler that contains others passes its own context to them.
struct LRSchedulerContext {
  /// Returns the number of optimizer steps of the whole run; unset if the length is unknown. A call makes the training
  /// loader. The function may be empty.
  std::function<std::optional<int64_t>()> total_steps = {};
  /// Inside another scheduler: the outermost scheduler's config, which decides when it steps. Null: the scheduler's own
  /// config decides. Valid during `bind`.
  const LRSchedulerConfig* outer_config = nullptr;
  /// Inside another scheduler: the initial rates shared by all inner schedulers (Python's `initial_lr` of the groups).
  /// The first scheduler that is bound fills it.
  std::shared_ptr<std::vector<double>> initial_lr = {};
};

/// A learning-rate scheduler bound to an optimizer: sets the rate of each parameter group, like Python's
/// torch.optim.lr_scheduler. The trainer makes it from an LRSchedulerSpec.
///
/// The constructor of a derived class must end with a call of `start()`, which is Python's initial step.
class LRScheduler {
 public:
  /// The optimizer must outlive the scheduler.
  explicit LRScheduler(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context = {});
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  /// Advances by one epoch (or one step if the interval is Step) and sets the rates.
  virtual void step();
  /// Does the same for schedulers that follow a metric; the others ignore the value.
  virtual void step(double metric);
  /// Returns true for schedulers whose step needs a metric (ReduceLROnPlateau).
  virtual bool needs_metric() const { return false; }

  /// Returns whether the rates follow from the number of steps alone, so that `advance_to` can skip some.
  virtual bool can_advance() const { return false; }
  /// Sets the rates of step number `last_epoch`. Throws levin::UsageError unless `can_advance`.
  void advance_to(int64_t last_epoch);

  /// Returns the number of calls of step(), 0 after construction; the name is Python's. By tokens: their number.
  int64_t last_epoch() const { return last_epoch_; }
  /// Returns the rate of each group, as last set.
  std::vector<double> last_lr() const;

  /// Returns the state with the keys of Python's state dicts: last_epoch, base_lrs, and those of the derived class. The
  /// rates themselves are part of the optimizer's state.
  virtual State state_dict() const;
  /// Loads a state that levin's or Python's scheduler returned; missing keys leave their members unchanged. Throws
  /// levin::UsageError if the state is for another number of parameter groups, and for an unknown word.
  virtual void load_state_dict(const State& state);

  // --- for schedulers that contain others ---
  /// Undoes the initial step's change of the epoch, but not of the rates.
  virtual void undo_initial_step();
  /// Makes the initial step, to epoch 0, after construction or after undo_initial_step.
  virtual void initial_step();
  /// Restarts at epoch 0 from the initial rates, whatever the current rates are.
  virtual void restart();

 protected:
  /// Sets the rates of epoch 0.
  void start();
  /// Returns the rate of each group for `last_epoch()`; `current` holds the current rates.
  virtual std::vector<double> next_lr(const std::vector<double>& current) = 0;
  /// Returns the rates for a restart; by default `next_lr`. Schedulers that compute the rates from the current ones
  /// override it.
  virtual std::vector<double> first_lr(const std::vector<double>& current) { return next_lr(current); }
  bool in_initial_step() const { return in_initial_step_; }
  void set_lr(const std::vector<double>& rates);

  /// A pointer to a member of a derived class.
  using Member = std::variant<bool*, int64_t*, double*, std::string*, std::vector<double>*>;
  /// Makes a member part of the state.
  void keep_in_state(std::string key, Member member) { members_.emplace_back(std::move(key), member); }
  /// Makes the word of a member part of the state.
  template <class E>
  void keep_in_state(std::string key, Choice<E>* choice) {
    choices_.push_back({std::move(key), choice, &OptionTraits<Choice<E>>::type()});
  }

  torch::optim::Optimizer& optimizer_;
  std::shared_ptr<std::vector<double>> initial_lr_;  ///< see LRSchedulerContext
  std::vector<double> base_lrs_;                     ///< the initial rates at construction
  int64_t last_epoch_ = 0;

 private:
  int64_t step_count_ = 0;
  bool in_initial_step_ = false;
  std::vector<std::pair<std::string, Member>> members_ = {};

  struct KeptChoice {
    std::string key;
    void* choice;
    const OptionType* type;
  };
  std::vector<KeptChoice> choices_ = {};
};

/// A scheduler that is not bound to an optimizer yet; `configure_optimizers` returns it with the optimizer.
class LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for an invalid interval or frequency.
  explicit LRSchedulerSpec(LRSchedulerConfig config_);
  virtual ~LRSchedulerSpec() = default;
  /// Throws levin::UsageError if options do not fit the optimizer or the run.
  virtual std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                            const LRSchedulerContext& context) const = 0;

  LRSchedulerConfig config;
};

}  // namespace levin
