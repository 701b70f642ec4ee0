#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/duration.h>
#include <levin/core/options/option.h>
#include <levin/modules/lr_schedulers/interval.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>

namespace levin {

struct TimerOptions {
  std::optional<Duration> duration = LEVIN_OPTION(duration, {}, "End the run after this time of training");
  Choice<Interval> interval = LEVIN_OPTION(interval, Interval::Step, "Look at the time after each step or each epoch",
                                           {.choices = {"epoch", "step"}});
  bool verbose = LEVIN_OPTION(verbose, true, "Print that the time was reached");
};

/// Measures the time of training, validation and test, and stops the run when training has taken too long.
/// Source: lightning.pytorch.callbacks.Timer
class Timer : public Callback {
 public:
  using Options = TimerOptions;

  Timer() = default;
  /// Throws UsageError for bad options.
  explicit Timer(TimerOptions options);

  void on_train_start(Run& run) override;
  void on_train_end(Run& run) override;
  void on_validation_start(Run& run) override;
  void on_validation_end(Run& run) override;
  void on_test_start(Run& run) override;
  void on_test_end(Run& run) override;
  void on_train_batch_end(Run& run) override;
  void on_train_epoch_end(Run& run) override;

  /// Returns the seconds of Stage::Fit (including its validations), Stage::Validate or Stage::Test, with the time
  /// before a resume.
  double time_elapsed(Stage stage = Stage::Fit) const;
  /// Returns the seconds of training left; unset without duration.
  std::optional<double> time_remaining() const;

  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Watch {
    double before = 0;  ///< seconds of the periods that have ended
    std::optional<Clock::time_point> begun = {};
  };
  Watch& watch(Stage stage) { return watches_[static_cast<size_t>(stage)]; }
  void begin(Stage stage) { watch(stage).begun = Clock::now(); }
  void end(Stage stage);
  void check(Run& run);

  TimerOptions options_ = {};
  std::array<Watch, 5> watches_ = {};  ///< by Stage
};

}  // namespace levin
