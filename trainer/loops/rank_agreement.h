#pragma once
#include <levin/core/system/signals.h>
#include <levin/trainer/loops/validation_schedule.h>
#include <levin/trainer/run/run_context.h>
#include <levin/trainer/run_folder/run_request.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace levin {

/// Requests of single ranks on which all ranks act in the same step: to stop, to handle a signal, to save, to validate
/// because the interval is over. Works with one rank too, without messages.
class RankAgreement {
 public:
  /// The arguments must outlive the object. While it exists, signals take effect only once all ranks agree.
  RankAgreement(RunContext& run, const ValidationSchedule& schedule);

  /// Agrees at the end of a window, in a message that is sent anyway.
  void at_end_of_window();
  /// Agrees on all requests made so far, in a separate message. Collective: all ranks call it.
  void now();
  /// If a viewer has asked the run to pause, and the ranks have agreed on it, waits until that is taken back, a stop is
  /// asked, or a signal comes. The run's clock stands still meanwhile. Collective: all ranks call it.
  void wait_while_paused();
  /// Returns whether the ranks have agreed on a signal and are at a position from which a run can resume.
  bool ends_here() const;

 private:
  friend class ValidationAgreement;
  /// Agrees in a separate message. `interval`: this rank's proposal, a power of two; returns rank 0's proposal.
  int64_t in_validation(int64_t interval);
  uint64_t requests();
  void take(uint64_t agreed);
  /// Asks to end if the job's time limit is near.
  void end_before_time_limit();

  RunContext& run_;
  const RunParts& parts_;
  const ValidationSchedule& schedule_;
  std::optional<SignalHold> signals_ = {};  ///< set if there are several ranks
  std::optional<double> session_end_ = {};  ///< wall_seconds by which this process must have saved
  RunRequestReader asked_;                  ///< of rank 0
  bool pauses_ = false;                     ///< the ranks have agreed on it
};

/// Lets ranks act on a signal together inside one loader of a validation, which gives all ranks the same number of
/// batches. They exchange requests after the same number of batches, several times per second.
class ValidationAgreement {
 public:
  explicit ValidationAgreement(RankAgreement& ranks) : ranks_(ranks) {}

  /// Call after each batch. Returns false if all ranks end here.
  bool goes_on();

 private:
  using Clock = std::chrono::steady_clock;

  RankAgreement& ranks_;
  int64_t interval_ = 1, batches_ = 0;
  Clock::time_point asked_ = Clock::now();
};

}  // namespace levin
