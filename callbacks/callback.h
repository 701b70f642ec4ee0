#pragma once
#include <levin/core/run/callback_entry.h>
#include <levin/core/run/hooks.h>
#include <levin/core/run/run.h>
#include <levin/core/state/state.h>

#include <string>

namespace levin {

/// A part that observes or controls runs: override the hooks it needs, and add it to `TrainerOptions::callbacks`.
///
/// Callbacks run in the order given, before the module's hook of the same name. If a hook throws, the run ends after
/// on_exception.
class Callback : public Hooks {
 public:
  /// Returns this callback's state for a checkpoint; none by default.
  virtual State state_dict() const { return {}; }
  virtual void load_state_dict(const State&) {}
  /// Returns the key of the state in checkpoints. It is PyTorch Lightning's key, so that Lightning finds the state too.
  /// If a run may have several callbacks of one class, the key includes the options that tell them apart.
  virtual std::string state_key() const;
  /// Returns true for callbacks that act on logged values: their on_train_epoch_end runs after the module's, which may
  /// log.
  virtual bool is_monitoring() const { return false; }
};

}  // namespace levin
