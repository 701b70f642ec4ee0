#pragma once
#include <levin/trainer/assembly/loader_source.h>
#include <levin/trainer/loops/evaluation_loop.h>
#include <levin/trainer/loops/rank_agreement.h>
#include <levin/trainer/loops/ranked_loader.h>
#include <levin/trainer/loops/run_schedulers.h>
#include <levin/trainer/loops/training_step.h>
#include <levin/trainer/loops/validation_schedule.h>
#include <levin/trainer/run/run_context.h>
#include <levin/trainer/run/training_length.h>

#include <memory>
#include <optional>

namespace levin {

/// The training loop: epochs of batches, with validation inside and at the end of epochs.
///
///     sanity check                                a few validation batches, nothing kept
///     on_train_start
///     until done:
///       new loaders if reload_dataloaders_every_n_epochs is due
///       on_train_epoch_start
///       for each batch of the loader:
///         transfer hooks, to the device
///         on_train_batch_start
///         TrainingStep::run                       loss, backward, and the optimizer's step at the window's end
///         lr schedulers by step; by epoch in the epoch's last batch
///         advance                                 ONE place for the counters, before any hook can save
///         on_train_batch_end
///         agree                                   at the end of the window: stop requests of all ranks
///         log if due                              the only host sync
///         save if asked
///         validation if due, then schedulers that follow a metric
///       on_train_epoch_end, values of the epoch reduced and logged, save if asked
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
  using Interval = RunSchedulers::Interval;

  bool nothing_to_do() const;
  bool inside_epoch() const;
  void load_loaders();
  void resume_loaders();
  void reload_loaders_if_due();
  void run_epoch(bool resumed);
  void begin_epoch();
  void end_epoch();
  /// Returns the epoch's next batch; nullopt after the last, or if a resumed run is already past the present limit.
  std::optional<data::LoadedBatch> next_batch();
  void run_batch(data::LoadedBatch loaded, bool last);
  /// Runs the part of run_batch in which hooks see the batch.
  TrainingStep::Outcome train_on(const Batch& batch, int64_t samples, bool last, const BatchOnRanks& on_ranks);
  /// Finishes an epoch whose last batch was not known to be the last.
  void end_unannounced();
  /// Runs the validation if one is due after a batch, then steps the schedulers that follow a metric. A run that was
  /// saved after the batch's hooks resumes here.
  void validate_and_step_plateaus();
  void advance(int64_t batches, int64_t samples, const TrainingStep::Outcome& outcome);
  /// Runs a batch that this rank does not have, for the ranks that do: their collectives need all. It counts for
  /// nothing.
  TrainingStep::Outcome run_idle(const Batch& batch, int64_t batch_idx, bool last, const BatchOnRanks& on_ranks);
  void log_if_due(bool stepped);
  void watch_loss(bool read_device);
  void validate();
  bool validation_due(bool window_done, bool last) const;
  bool stop_now() const;
  bool limits_reached() const;

  RunContext& run_;
  const RunParts& parts_;
  TrainerState& counters_;
  MetricSink& sink_;
  LoaderSource source_;
  RunSchedulers schedulers_;
  EvaluationLoop validation_;
  std::unique_ptr<TrainingStep> step_ = {};
  data::Loaders loaders_ = {};
  std::optional<RankedLoader> ranked_ = {};     ///< around loaders_
  std::optional<int64_t> limit_of_epoch_ = {};  ///< batches, if limit_train_batches limits the epoch
  int64_t loaded_in_epoch_ = 0;
  ValidationSchedule schedule_;
  std::optional<RankAgreement> agreement_ = {};
  bool interrupted_ = false;  ///< a signal ended the current validation; its position is saved
};

/// Combines the training loaders into one, sets the run's seed and order, and shards the loader across ranks.
data::Loaders ready_for_training(const RunParts& parts, const data::Loaders& loaders);

/// Returns the batches per epoch of this training loader, limits applied; unset if unknown.
std::optional<int64_t> batches_per_epoch(const ResolvedOptions& options, const RankedLoader& train);

}  // namespace levin
