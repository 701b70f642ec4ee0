#pragma once
#include <cstdint>
#include <utility>

namespace levin {

/// The progress of the latest train batch; a checkpoint can be saved in each of these phases.
///
///     Done         everything is done
///       set_hooks_done
///     HooksDone    its hooks have run and its values are logged; a validation may follow
///       begin_validation
///     Validating   inside the validation that follows it
///       end_validation, or skip_validation without one
///     Validated    schedulers that follow a metric still have to step
///       finish
///     Done
///
/// The host of a session may validate in each phase, which holds again after such a validation.
class BatchPhase {
 public:
  enum Phase : int64_t { Done, HooksDone, Validating, Validated };

  BatchPhase() = default;
  /// A saved phase.
  explicit BatchPhase(int64_t saved) : phase_(static_cast<Phase>(saved)) {}
  operator Phase() const { return phase_; }

  void set_hooks_done() { phase_ = HooksDone; }
  /// Does nothing in a run that was resumed inside the validation.
  void begin_validation() {
    if (phase_ != Validating) before_ = std::exchange(phase_, Validating);
  }
  void end_validation() { phase_ = before_ == HooksDone ? Validated : before_; }
  void skip_validation() { phase_ = Validated; }
  /// Also drops what is left to do, if the batch has failed.
  void finish() { phase_ = Done; }

 private:
  Phase phase_ = Done;
  Phase before_ = HooksDone;  ///< the validation
};

}  // namespace levin
