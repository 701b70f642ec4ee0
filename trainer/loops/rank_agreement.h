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
  /// What the ranks have found inside of a validation.
  struct InValidation {
    bool batches_left = false;  ///< on any rank
    int64_t interval = 1;       ///< batches until they ask again, the same on all ranks
  };
  /// With a message of its own. `interval`: what this rank proposes; rank 0's counts.
  InValidation in_validation(bool batches_left, int64_t interval);
  uint64_t requests() const;
  void take(uint64_t agreed);

  RunContext& run_;
  const ValidationSchedule& schedule_;
  std::optional<SignalHold> signals_ = {};  ///< where there are several ranks
  std::optional<double> session_end_ = {};  ///< wall_seconds at which this process must have saved
};

/// Lets ranks act on a signal together, inside of one loader of a validation: they ask each other after the same number
/// of batches, several times in a second, until none has a batch left. Ranks may have different numbers of batches.
class ValidationAgreement {
 public:
  explicit ValidationAgreement(RankAgreement& ranks) : ranks_(ranks) {}

  /// After each batch of this rank; false where all ranks end here.
  bool goes_on();
  /// Once this rank has no batch left: waits for the others; false where all ranks end here.
  bool finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool ask(bool batches_left);

  RankAgreement& ranks_;
  bool batches_left_ = true;  ///< on any rank
  int64_t interval_ = 1, batches_ = 0;
  Clock::time_point asked_ = Clock::now();
};

}  // namespace levin
