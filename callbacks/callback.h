#pragma once
#include <levin/trainer/core/run/callback_entry.h>
#include <levin/trainer/core/run/hooks.h>
#include <levin/trainer/core/run/run.h>
#include <levin/trainer/core/state/state.h>

#include <string>

namespace levin {

/// A part that watches or steers runs: override the hooks it needs, and give it to `TrainerOptions::callbacks`.
///
/// Callbacks run in the order given, before the module's hook of the same name. An exception that a hook throws ends
/// the run after on_exception.
class Callback : public Hooks {
 public:
  /// What a checkpoint must keep of this callback; nothing by default.
  virtual State state_dict() const { return {}; }
  virtual void load_state_dict(const State&) {}
  /// The name under which checkpoints keep the state: PyTorch Lightning's, so that it finds it too. Callbacks of which
  /// a run may have several with different options add these.
  virtual std::string state_key() const;
  /// True for callbacks that act on logged values: their on_train_epoch_end comes after the module's, which may log.
  virtual bool is_monitoring() const { return false; }
};

}  // namespace levin
