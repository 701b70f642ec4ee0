#pragma once
#include <levin/callbacks/fit_control.h>
#include <levin/data/batch.h>
#include <levin/trainer/loops/rank_agreement.h>
#include <levin/trainer/loops/run_schedulers.h>
#include <levin/trainer/loops/training_check.h>
#include <levin/trainer/loops/training_step.h>
#include <levin/trainer/loops/validation_schedule.h>
#include <levin/trainer/run/run_context.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace levin {

/// The place of a training batch in its epoch and on the ranks.
struct BatchPlace {
  int64_t samples = 0;
  bool last = false;  ///< no batch follows in this epoch
  BatchOnRanks on_ranks = {};
  StepProgram* program = nullptr;  ///< runs the batch in place of the run's program; null: the run's
  bool wants_loss = false;         ///< the outcome holds the batch's loss
};

/// The training of a fit, one batch at a time, for a driver that has the batches: FitLoop takes them from loaders, and
/// the host of a Session hands them over.
///
///     begin                                     once
///     until is_over:
///       begin_epoch                             on_train_epoch_start
///       for each batch:
///         run_batch
///           transfer hooks, to the device
///           on_train_batch_start
///           TrainingStep::run                   loss, backward, and the optimizer's step at the window's end
///           lr schedulers by step; by epoch in the epoch's last batch
///           advance                             ONE place for the counters, before any hook can save
///           on_train_batch_end
///           agree                               at the end of the window: stop requests of all ranks
///           log if due                          the only host sync
///           save if asked
///         a validation, if the driver has one
///         finish_batch                          schedulers that follow a metric
///       end_epoch                               on_train_epoch_end, values of the epoch logged, save if asked
class FitSteps {
 public:
  /// `run` and `schedule` must outlive the object.
  FitSteps(RunContext& run, const ValidationSchedule& schedule);

  /// Makes the training step. The run's optimizers and schedulers must be set.
  void begin();
  RankAgreement& agreement() { return *agreement_; }

  /// Returns whether the run is between the first batch of an epoch and the epoch's end.
  bool is_inside_epoch() const { return counters_.batch_in_epoch > 0; }
  void begin_epoch();
  /// Trains one batch. Collective: all ranks call it.
  TrainingStep::Outcome run_batch(Batch&& batch, const BatchPlace& place);
  /// Ends an epoch whose last batch was not known to be the last: the open window gets its step. Throws
  /// levin::UsageError if the epoch had no batch.
  void end_unannounced();
  /// Steps the schedulers that follow a metric, unless that was done for this batch.
  void finish_batch();
  /// If the epoch's last batch is done, the epoch counts as finished; else a resumed run continues in it.
  void end_epoch();

  /// Calls on_train_end, once all batches are trained.
  void end();

  /// Returns whether max_epochs or max_steps is reached.
  bool limits_reached() const;
  /// Returns whether training ends here: at a limit, or at a request to stop on which all ranks have agreed.
  bool is_over() const;

 private:
  /// Returns the epoch limit of the fit, with the epochs that callbacks add.
  std::optional<int64_t> whole_length();
  /// Runs the part of run_batch in which hooks see the batch.
  TrainingStep::Outcome train_on(const Batch& batch, const BatchPlace& place);
  TrainingStep::Outcome run_step(const Batch& batch, const BatchPlace& place, int64_t batch_idx);
  /// Runs a batch that this rank does not have, for the ranks that do: their collectives need all. It counts for
  /// nothing.
  TrainingStep::Outcome run_idle(const Batch& batch, const BatchPlace& place, int64_t batch_idx);
  void advance(int64_t batches, int64_t samples, const TrainingStep::Outcome& outcome);
  void log_if_due(bool stepped);
  void watch_loss(bool read_device);

  RunContext& run_;
  const RunParts& parts_;
  TrainerState& counters_;
  MetricSink& sink_;
  const ValidationSchedule& schedule_;
  const std::vector<FitControl*> controls_;
  std::optional<int64_t> epoch_limit_;
  RunSchedulers schedulers_;
  std::unique_ptr<TrainingStep> step_ = {};
  std::optional<TrainingCheck> check_ = {};  ///< set by `begin`
  std::optional<RankAgreement> agreement_ = {};
};

}  // namespace levin
