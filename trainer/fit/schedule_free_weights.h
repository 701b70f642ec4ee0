#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/state/state.h>

#include <exception>

namespace levin {

/// Puts the averages of optim::ScheduleFreeAdamW into the module where its weights are used: during validations and
/// when a fit ends. Checkpoints hold them as `state_dict`, and the weights that are trained as `current_model_state`.
/// Of every fit; without such an optimizer it does nothing.
class ScheduleFreeWeights : public Callback {
 public:
  /// Throws levin::UsageError for a run that averages weights by a callback too.
  void on_fit_start(Run& run) override;
  void on_validation_epoch_start(Run& run) override;
  void on_validation_epoch_end(Run& run) override;
  void on_fit_end(Run& run) override;
  void on_exception(Run& run, const std::exception& error) override;
  void on_save_checkpoint(Run& run, State& checkpoint) override;
  void on_load_checkpoint(Run& run, const State& checkpoint) override;

 private:
  State trained_ = {};          ///< of a checkpoint, until the fit starts
  bool uses_averages_ = false;  ///< the module has the averages now
};

}  // namespace levin
