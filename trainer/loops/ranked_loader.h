#pragma once
#include <levin/core/ranks/comm.h>
#include <levin/core/state/state.h>
#include <levin/data/loader.h>

#include <cstdint>
#include <optional>

namespace levin {

struct RunParts;

/// The loader of one of several ranks, which take their batches together. A rank without batches continues with absent
/// ones until no rank has any left, so that all ranks make the same number of steps.
///
/// Loaders that are in step need no message for this; the others need a small message per batch.
class RankedLoader {
 public:
  /// Both arguments must outlive the object. Throws levin::UsageError if loaders that are in step have different
  /// numbers of batches, which means that their ranks read different data. Collective: all ranks call it.
  RankedLoader(data::Loader& loader, Comm& comm);

  data::Loader& loader() const { return loader_; }
  /// Batches per epoch on the rank with the most; unset if any rank does not know.
  std::optional<int64_t> size() const { return size_; }
  /// Returns whether ranks need no message to know whether others have a batch.
  bool is_in_step() const { return in_step_; }
  /// Throws levin::UsageError if `resumed`, this rank's part of a checkpoint, is from another number of ranks and the
  /// loaders are not in step now or were not when it was saved (the entry `in_step_key`): then each rank has its own
  /// position.
  void check_ranks(const State& resumed, const char* in_step_key) const;

  /// Returns this rank's next batch, marked `last` if no rank has more; nullopt once no rank has any. Collective: all
  /// ranks call it.
  std::optional<data::LoadedBatch> next();
  /// Returns how many ranks have a batch in the round of `newest`, the last result of `next`. Collective: all ranks
  /// call it.
  int64_t ranks_with(const data::LoadedBatch& newest);
  /// Returns the batch that this rank runs if its own is absent and empty: its newest batch or, if the run was resumed
  /// since, the first batch of `epoch`. Throws levin::UsageError if the rank has no batch at all.
  Batch stand_in(int64_t epoch);

 private:
  void agree_on_size();

  data::Loader& loader_;
  Comm& comm_;
  bool in_step_ = true;
  std::optional<int64_t> size_;
  int64_t ranks_with_batch_ = 0;      ///< in the newest round, if ranks are not in step
  std::optional<Batch> newest_ = {};  ///< kept if ranks are not in step
};

/// Gives the run's seed, if it has one, to the loaders whose own options have none.
void seed_loaders(const RunParts& parts, const data::Loaders& loaders);

/// Shards the loaders across ranks if use_distributed_sampler is set.
void divide_among_ranks(const RunParts& parts, const data::Loaders& loaders);

}  // namespace levin
