#pragma once
#include <levin/callbacks/callback.h>
#include <levin/callbacks/step_follower.h>
#include <levin/core/options/option.h>
#include <levin/modules/optim/ema.h>

#include <memory>
#include <optional>

namespace levin {

struct EMAWeightAveragingOptions {
  bool use_buffers = LEVIN_OPTION(use_buffers, true, "Average floating-point buffers too; false: copy all buffers");
  double decay = LEVIN_OPTION(decay, 0.999, "Weight of the old average in an update", {.min = 0, .max = 1});
  int64_t update_every_n_steps =
      LEVIN_OPTION(update_every_n_steps, 1, "Update every n optimizer steps; 0: not after steps", {.min = 0});
  std::optional<int64_t> update_starting_at_step =
      LEVIN_OPTION(update_starting_at_step, {}, "First step, from 0, after which steps update", {.min = 0});
  std::optional<int64_t> update_starting_at_epoch = LEVIN_OPTION(
      update_starting_at_epoch, {}, "Update at the end of each epoch from this one on, from 0", {.min = 0});
};

/// Keeps an exponential moving average of the weights (levin::optim::EMA): validations during fit use it, checkpoints
/// hold it as `state_dict`, and the fit ends with it.
///
/// A checkpoint also holds the weights that are trained, as `current_model_state`; a resumed run trains those.
/// The first update copies the weights; before it the module's own weights count, and a fit that ends before it warns.
/// Averages lie on the devices of the parameters; under fsdp each rank averages its own part of them.
///
/// Source: lightning.pytorch.callbacks.EMAWeightAveraging
class EMAWeightAveraging : public Callback, public StepFollower {
 public:
  using Options = EMAWeightAveragingOptions;

  EMAWeightAveraging() = default;
  /// Throws UsageError for bad options.
  explicit EMAWeightAveraging(EMAWeightAveragingOptions options);

  void setup(Run& run) override;
  void on_fit_start(Run& run) override;
  void on_train_batch_end(Run& run) override;
  void on_train_epoch_end(Run& run) override;
  /// Updates the averages if a step since the last update asks for it.
  void after_step(Run& run) override;
  void on_validation_epoch_start(Run& run) override;
  void on_validation_epoch_end(Run& run) override;
  void on_fit_end(Run& run) override;
  void on_exception(Run& run, const std::exception& error) override;
  void on_save_checkpoint(Run& run, State& checkpoint) override;
  void on_load_checkpoint(Run& run, const State& checkpoint) override;

  /// PyTorch Lightning's key: latest_update_step; and latest_update_epoch.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  bool step_updates(int64_t step) const;
  void swap_back();
  State held_weights(Run& run, const State& of_module) const;

  EMAWeightAveragingOptions options_ = {};
  std::shared_ptr<optim::EMA> ema_ = {};  ///< during a fit
  int64_t latest_update_step_ = 0, latest_update_epoch_ = -1;
  bool is_swapped_ = false;
  State loaded_ = {};  ///< of a checkpoint: current_model_state, state_dict and averaging_state
};

}  // namespace levin
