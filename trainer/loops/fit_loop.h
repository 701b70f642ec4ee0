#pragma once
#include <levin/trainer/loops/evaluation_loop.h>
#include <levin/trainer/loops/fit_steps.h>
#include <levin/trainer/loops/training_loader.h>
#include <levin/trainer/loops/validation_schedule.h>
#include <levin/trainer/run/loader_source.h>
#include <levin/trainer/run/run_context.h>

#include <cstdint>
#include <optional>

namespace levin {

/// The training loop: epochs of batches from loaders, with validation inside and at the end of epochs.
///
///     sanity check                              a few validation batches, nothing kept
///     on_train_start
///     until done:
///       new loaders if reload_dataloaders_every_n_epochs is due
///       FitSteps::begin_epoch
///       for each batch of the loader:
///         FitSteps::run_batch
///         stand still while a viewer asks for it (RunRequest::Pause)
///         validation if due
///         FitSteps::finish_batch
///       FitSteps::end_epoch
///     on_train_end
///
/// A resumed run enters the loop where it was saved. Hooks of the current epoch or validation that had already run are
/// not called again.
class FitLoop {
 public:
  /// The run's optimizers and schedulers must be set.
  FitLoop(RunContext& run, LoaderSource source);
  void run();

 private:
  bool nothing_to_do() const;
  void load_loaders();
  void reload_loaders_if_due();
  void warn_of_steps_beyond_epochs();
  void run_epoch(bool resumed);
  void train_batches();
  void begin_epoch();
  /// Runs the validation if one is due after a batch, then finishes the batch. A run that was saved after the batch's
  /// hooks resumes here.
  void validate_and_finish_batch();
  void validate();
  bool validation_due(bool window_done, bool last) const;

  RunContext& run_;
  const RunParts& parts_;
  TrainerState& counters_;
  LoaderSource source_;
  ValidationSchedule schedule_;
  FitSteps steps_;
  EvaluationLoop validation_;
  std::optional<TrainingLoader> loader_ = {};
  int64_t loaded_in_epoch_ = 0;
  bool interrupted_ = false;  ///< a signal ended the current validation; its position is saved
};

}  // namespace levin
