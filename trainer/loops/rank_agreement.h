#pragma once
#include <levin/trainer/core/signals.h>
#include <levin/trainer/loops/run_context.h>
#include <levin/trainer/loops/validation_schedule.h>

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

 private:
  uint64_t requests() const;
  void take(uint64_t agreed);

  RunContext& run_;
  const ValidationSchedule& schedule_;
  std::optional<SignalHold> signals_ = {};  ///< where there are several ranks
  std::optional<double> session_end_ = {};  ///< wall_seconds at which this process must have saved
};

}  // namespace levin
