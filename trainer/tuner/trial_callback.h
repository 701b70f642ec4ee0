#pragma once
#include <levin/callbacks/callback.h>
#include <levin/trainer/core/state.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

class ModuleSnapshot;

/// A copy whose tensors have memory of their own.
State deep_copy(const State& state);

/// What a run knows and a module's tensors do not hold: the state of optimizers that outlive the run, of registered
/// metrics, and what the module's own on_save_checkpoint adds.
class TrialState {
 public:
  /// Keeps the state as it is; nothing where it is kept already.
  void keep(Run& run);
  void put_back(Run& run) const;

 private:
  std::vector<State> optimizers_ = {};  ///< none for those whose state nobody knows
  std::vector<std::pair<std::string, State>> metrics_ = {};
  std::optional<State> of_module_ = {};
};

/// The callback of a trial: it keeps the run's state at its start, puts it back at its end, and throws levin::Error
/// after a signal that asks to end. Which state that is, `use` says.
class TrialCallback : public Callback {
 public:
  void use(TrialState& state, ModuleSnapshot& snapshot);

  void on_fit_start(Run& run) final;
  void on_train_batch_end(Run& run) final;
  void teardown(Run& run) final;
  void on_exception(Run& run, const std::exception& error) final;

 protected:
  /// Before the first batch, on the run's device.
  virtual void begin(Run& /*run*/) {}
  /// After each optimizer step's last batch, when hooks have seen it.
  virtual void step_done(Run& run) = 0;
  /// However the trial ended.
  virtual void end(Run& /*run*/) {}

 private:
  void finish(Run& run);
  TrialState* state_ = nullptr;
  ModuleSnapshot* snapshot_ = nullptr;
};

}  // namespace levin
