#include <levin/trainer/loops/training_loader.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/combined_loader.h>

#include <utility>

namespace levin {
namespace {

/// Combines several loaders into one that takes a batch from each.
data::Loaders one_of(const data::Loaders& loaders) {
  return loaders.size() > 1 ? data::Loaders(data::CombinedLoader(loaders)) : loaders;
}

}  // namespace

data::Loaders ready_for_training(const RunParts& parts, const data::Loaders& loaders) {
  if (loaders.empty())
    throw UsageError(
        "fit: there is no training loader; give one to fit, or override train_dataloader(). A module that makes its "
        "own data needs none: set trainer.max_steps or trainer.max_time");
  data::Loaders ready = one_of(loaders);
  seed_loaders(parts, ready);
  divide_among_ranks(parts, ready);
  if (!parts.options->overfit_batches.is_none() && !ready[0].use_sequential_order())
    console::warn("trainer.overfit_batches: the training loader keeps its own order; give one that does not shuffle");
  return ready;
}

std::optional<int64_t> batches_per_epoch(const ResolvedOptions& options, const BatchLimit& limit_train_batches,
                                         const RankedLoader& train) {
  return limit_train_batches.of(train.size(), options.limit_or_overfit("trainer.limit_train_batches"));
}

TrainingLoader::TrainingLoader(RunContext& run, data::Loaders loaders)
    : run_(run),
      loaders_(std::move(loaders)),
      ranked_(loaders_[0], run.comm()),
      batches_(batches_per_epoch(run.parts.options, run.parts.options->limit_train_batches, ranked_)),
      limit_(run.parts.options->limit_train_batches == BatchLimit(1.0) ? std::nullopt : batches_) {
  run_.state.loaders.train = &loaders_;
  const ResolvedOptions& options = run.parts.options;
  run_.state.loaders.planned_batches.emplace(batches_per_epoch(options, options.whole_fit().train_batches, ranked_));
  run_.state.loaders.batches = batches_;
}

void TrainingLoader::resume() {
  if (run_.state.counters.batch_in_epoch == 0) return;
  data::Loader& loader = loaders_[0];
  const State* const places = run_.state.resumption.places();
  if (places != nullptr) ranked_.check_ranks(*places, "train_loader_in_step");
  const State* saved = places != nullptr ? places->find("train_loader") : nullptr;
  if (saved != nullptr && saved->size() > 0) {
    loader.load_state_dict(saved->items()[0]);
    return;
  }
  // PyTorch Lightning's checkpoints do not hold the loader's position.
  loader.set_epoch(run_.state.counters.epoch);
  for (int64_t i = 0; i < run_.state.counters.batch_in_epoch; ++i) loader.next();
}

std::optional<data::LoadedBatch> TrainingLoader::next() {
  if (limit_ && run_.state.counters.batch_in_epoch >= *limit_) return {};
  return ranked_.next();
}

BatchPlace TrainingLoader::place(data::LoadedBatch& newest) {
  const TrainerState& counters = run_.state.counters;
  BatchOnRanks on_ranks = {.is_idle = newest.absent};
  if (!run_.module().automatic_optimization) on_ranks.ranks_with_batch = ranked_.ranks_with(newest);
  if (on_ranks.is_idle && newest.batch.empty()) newest.batch = ranked_.stand_in(counters.epoch);
  return {
      .samples = newest.samples, .last = newest.last || counters.batch_in_epoch + 1 == limit_, .on_ranks = on_ranks};
}

}  // namespace levin
