#pragma once
#include <levin/core/device/rng_state.h>
#include <levin/trainer/run/batch_in_hand.h>
#include <levin/trainer/run/batch_transfer.h>
#include <levin/trainer/run/fit_driver.h>
#include <levin/trainer/run/run_parts.h>
#include <levin/trainer/run/run_state.h>
#include <levin/trainer/run/run_view.h>
#include <levin/trainer/run/save_points.h>
#include <levin/trainer/run/step_parts.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// The current run: what it is made of, what its loops share, its checkpoints, and what hooks see of it. Trainer makes
/// one for each call of fit, validate, test or predict.
class RunContext {
 public:
  /// `parts` must outlive the run. The module sees the run until `end` or the destructor.
  RunContext(const RunParts& parts, CheckpointOf checkpoint_of);
  ~RunContext();
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  const RunParts& parts;
  RunState state;
  SavePoints saves;
  RunView view;

  LightningModule& module() const { return *parts.module.module; }
  /// Null without one, and after the run: the caller may have destroyed it.
  data::DataModule* data_module() const;
  Comm& comm() const { return parts.comm(); }
  /// Returns the parts that a training step works with.
  StepParts step_parts();

  /// `driver` must outlive the run; null: nobody drives it.
  void set_driver(FitDriver* driver) { driver_ = driver; }
  /// From here on the first call of `optimizers` makes them, by the driver.
  void await_optimizers() { awaits_optimizers_ = true; }
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers();
  std::optional<int64_t> estimated_steps() { return driver_ != nullptr ? driver_->estimated_steps() : std::nullopt; }
  State host_states() const { return driver_ != nullptr ? driver_->host_states() : State(); }

  /// Sets the stage and loader that the module sees.
  void enter(Stage stage, int64_t dataloader_idx);
  Batch to_device(Batch batch) const {
    return transfer_batch(parts, std::move(batch), state.step_context.dataloader_idx);
  }
  /// Sends a row to the loggers; a no-op if `values` is empty.
  void log_row(const Metrics& values);
  LogRow log_position() const;
  /// Prints a warning, once per run for each `key`.
  void warn_once(const std::string& key, const std::string& text);
  /// The run's random number state, also after the run, when the program's own is restored.
  State rng() const { return rng_at_end_ ? *rng_at_end_ : rng_state(); }

  /// Drops the step's output and the optimizer handles after an exception has left the loop.
  void leave_loop();
  /// Detaches the module from the run. The state can still be saved.
  void end();
  bool has_ended() const { return rng_at_end_.has_value(); }
  /// Returns whether the module was destroyed.
  bool module_is_gone() const { return module_lifetime_.expired(); }
  /// Throws levin::UsageError, which names the call, if the module was destroyed.
  void check_module_exists(const char* call) const;

 private:
  std::weak_ptr<const void> module_lifetime_ = {};
  FitDriver* driver_ = nullptr;
  bool awaits_optimizers_ = false;
  std::set<std::string> warned_ = {};
  std::optional<State> rng_at_end_ = {};  ///< set once the run has ended
};

}  // namespace levin
