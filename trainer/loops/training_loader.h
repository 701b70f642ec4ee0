#pragma once
#include <levin/data/loader.h>
#include <levin/trainer/loops/fit_steps.h>
#include <levin/trainer/loops/ranked_loader.h>
#include <levin/trainer/run/run_context.h>

#include <cstdint>
#include <optional>

namespace levin {

/// The training loader of a fit: on all ranks, within limit_train_batches, at the position where the run was saved. Its
/// position is in the run's checkpoints.
class TrainingLoader {
 public:
  /// `loaders`: one loader, ready for training. `run` must outlive the object. Collective: all ranks call it.
  TrainingLoader(RunContext& run, data::Loaders loaders);
  TrainingLoader(const TrainingLoader&) = delete;
  TrainingLoader& operator=(const TrainingLoader&) = delete;

  /// Batches per epoch, within the limit; unset if unknown.
  std::optional<int64_t> batches() const { return batches_; }
  /// Inside an epoch of a resumed run: continues after the batches that are done. Throws levin::UsageError if the
  /// checkpoint holds positions of another number of ranks that say nothing about this one.
  void resume();
  void set_epoch(int64_t epoch) { loaders_[0].set_epoch(epoch); }
  /// Returns the epoch's next batch; nullopt after the last, or if a resumed run is already past the present limit.
  /// Collective: all ranks call it.
  std::optional<data::LoadedBatch> next();
  /// Returns the newest batch's place. A rank without a batch of its own gets one to run for the others. Collective:
  /// all ranks call it.
  BatchPlace place(data::LoadedBatch& newest);

 private:
  RunContext& run_;
  data::Loaders loaders_;
  RankedLoader ranked_;
  std::optional<int64_t> batches_;
  std::optional<int64_t> limit_;  ///< batches, if limit_train_batches limits the epoch
};

/// Combines the training loaders into one, sets the run's seed and order, and shards the loader across ranks.
data::Loaders ready_for_training(const RunParts& parts, const data::Loaders& loaders);

/// Returns the batches per epoch of this training loader within `limit_train_batches`; unset if unknown.
std::optional<int64_t> batches_per_epoch(const ResolvedOptions& options, const BatchLimit& limit_train_batches,
                                         const RankedLoader& train);

}  // namespace levin
