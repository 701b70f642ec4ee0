#pragma once
#include <levin/trainer/core/signals.h>
#include <levin/trainer/loops/run_context.h>
#include <levin/trainer/loops/validation_schedule.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace levin {

/// What one rank asks for and all do in the same step: to stop, to act on a signal, to validate since the time has
/// come. Also with one rank; then nothing is sent.
class RankAgreement {
 public:
  /// All must outlive this. From here on signals wait for the other ranks.
  RankAgreement(RunContext& run, const ValidationSchedule& schedule);

  /// At the end of a window: asks with a message that is sent anyway.
  void at_end_of_window();
  /// Up to now, with a message of its own: called by all ranks.
  void now();
  /// Whether the ranks have agreed on a signal, and are at a place where a run can go on from.
  bool ends_here() const;

 private:
  friend class ValidationAgreement;
  /// With a message of its own. `interval`: what this rank proposes, a power of two; returns rank 0's.
  int64_t in_validation(int64_t interval);
  uint64_t requests() const;
  void take(uint64_t agreed);

  RunContext& run_;
  const ValidationSchedule& schedule_;
  std::optional<SignalHold> signals_ = {};  ///< where there are several ranks
  std::optional<double> session_end_ = {};  ///< wall_seconds at which this process must have saved
};

/// Lets ranks act on a signal together, inside of one loader of a validation, which gives all of them as many batches:
/// they ask each other after the same number of batches, several times in a second.
class ValidationAgreement {
 public:
  explicit ValidationAgreement(RankAgreement& ranks) : ranks_(ranks) {}

  /// After each batch; false where all ranks end here.
  bool goes_on();

 private:
  using Clock = std::chrono::steady_clock;

  RankAgreement& ranks_;
  int64_t interval_ = 1, batches_ = 0;
  Clock::time_point asked_ = Clock::now();
};

}  // namespace levin
