#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/state/state.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

class ModuleSnapshot;

/// The state of a run that is not in the module's tensors: optimizers that outlive the run, registered metrics, and
/// what the module's on_save_checkpoint adds.
class TrialState {
 public:
  /// Saves the present state; a no-op after the first call.
  void keep(Run& run);
  void put_back(Run& run) const;

 private:
  std::vector<State> optimizers_ = {};  ///< none for optimizers whose state cannot be saved
  std::vector<std::pair<std::string, State>> metrics_ = {};
  std::optional<State> of_module_ = {};
};

/// The callback of a trial. It saves the run's state at the start, restores it at the end, and throws levin::Error
/// after a signal that asks to end. Call `use` first.
class TrialCallback : public Callback {
 public:
  void use(TrialState& state, ModuleSnapshot& snapshot);

  void on_fit_start(Run& run) final;
  void on_train_batch_end(Run& run) final;
  void teardown(Run& run) final;
  void on_exception(Run& run, const std::exception& error) final;

 protected:
  /// Called before the first batch, once the module is on the run's device.
  virtual void begin(Run& /*run*/) {}
  /// Called after the last batch of each optimizer step.
  virtual void step_done(Run& run) = 0;
  /// Called at the end of the trial, also after an exception.
  virtual void end(Run& /*run*/) {}

 private:
  void finish(Run& run);
  TrialState* state_ = nullptr;
  ModuleSnapshot* snapshot_ = nullptr;
};

}  // namespace levin
