#pragma once
#include <levin/trainer/loops/evaluation_loop.h>
#include <levin/trainer/loops/loader_source.h>
#include <levin/trainer/loops/optimizer_step.h>
#include <levin/trainer/loops/rank_agreement.h>
#include <levin/trainer/loops/ranked_loader.h>
#include <levin/trainer/loops/run_context.h>
#include <levin/trainer/loops/training_length.h>
#include <levin/trainer/loops/validation_schedule.h>

#include <optional>
#include <set>
#include <string>

namespace levin {

/// Training: epochs of batches, with validation between and inside them.
///
///     sanity check                                a few validation batches, nothing kept
///     on_train_start
///     until done:
///       new loaders, where reload_dataloaders_every_n_epochs asks for them
///       on_train_epoch_start
///       for each batch of the loader:
///         transfer hooks, to the device
///         on_train_batch_start
///         OptimizerStep::run                      loss, backward, and the optimizer's step at the window's end
///         lr schedulers by step; by epoch in the epoch's last batch
///         advance                                 ONE place for the counters, before any hook can save
///         on_train_batch_end
///         agree                                   at the window's end: requests to stop, of all ranks at once
///         log if due                              the only host sync
///         save if asked
///         validation if due, then schedulers that follow a metric
///       on_train_epoch_end, values of the epoch reduced and logged, save if asked
///     on_train_end
///
/// A run that continues from a checkpoint enters at the place where it was saved: hooks of the epoch or the validation
/// at hand that have run already are not called again.
class FitLoop {
 public:
  /// The run's optimizers and schedulers are set already.
  FitLoop(RunContext& run, LoaderSource source);
  void run();

 private:
  enum class Interval { Step, Epoch };

  bool nothing_to_do() const;
  bool inside_epoch() const;
  void load_loaders();
  void resume_loaders();
  void reload_loaders_if_due();
  void run_epoch(bool resumed);
  void begin_epoch();
  void end_epoch();
  /// The epoch's next batch; nothing behind its last, or where the limit of today lies behind the place that a
  /// continued run comes from.
  std::optional<data::LoadedBatch> next_batch();
  void run_batch(data::LoadedBatch loaded, bool last);
  /// What is left to do behind an epoch's last batch where nobody knew that it was the last.
  void end_unannounced();
  void finish_batch();
  void advance(int64_t batches, int64_t samples, const OptimizerStep::Outcome& outcome);
  /// Runs a batch for the others, who have samples where this rank has none; it counts for nothing.
  OptimizerStep::Outcome run_weightless(bool last);
  void log_if_due(bool stepped);
  void watch_loss(bool read_device);
  void validate();
  void step_schedulers(Interval interval, bool following_metric);
  /// The newest value of the metric that a scheduler follows; without one an error, or a warning where not strict.
  std::optional<double> monitored(const LRSchedulerConfig& config);
  bool validation_due(bool window_done, bool last) const;
  bool stop_now() const;
  bool limits_reached() const;

  RunContext& run_;
  LoaderSource source_;
  EvaluationLoop validation_;
  std::optional<OptimizerStep> step_ = {};
  data::Loaders loaders_ = {};
  std::optional<RankedLoader> ranked_ = {};     ///< of loaders_
  std::optional<int64_t> limit_of_epoch_ = {};  ///< batches, where limit_train_batches says so
  int64_t loaded_in_epoch_ = 0;
  ValidationSchedule schedule_;
  std::optional<RankAgreement> agreement_ = {};
  std::set<std::string> warned_monitors_ = {};
};

/// The training loaders as one, with the run's seed and order, and divided among its ranks.
data::Loaders ready_for_training(const RunContext& run, const data::Loaders& loaders);

/// Batches of an epoch of this training loader, limits applied; unset where unknown.
std::optional<int64_t> batches_per_epoch(const TrainerOptions& options, const RankedLoader& train);

}  // namespace levin
