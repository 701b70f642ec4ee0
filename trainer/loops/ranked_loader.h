#pragma once
#include <levin/data/loader.h>
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/state.h>

#include <cstdint>
#include <optional>

namespace levin {

/// The loader of one of several ranks, which take their batches together: a rank that has none left goes on, with
/// batches that are absent, until no rank has any. So all ranks make the same steps, whatever each of them reads.
///
/// Loaders that are in step need no message for that; the others cost a small one for each batch.
class RankedLoader {
 public:
  /// Called by all ranks; both must outlive this. Throws levin::UsageError where loaders that are in step have
  /// different numbers of batches, since their ranks read different data.
  RankedLoader(data::Loader& loader, Comm& comm);

  data::Loader& loader() const { return loader_; }
  /// Batches of an epoch, of the rank that has most; unset where one does not know.
  std::optional<int64_t> size() const { return size_; }
  /// Whether no rank has to ask the others how far they are.
  bool is_in_step() const { return in_step_; }
  /// Throws levin::UsageError where `resumed`, what this rank takes of a checkpoint, is of another number of ranks, and
  /// those of then (as `in_step_key` says) or of now are not in step: then each has a place of its own.
  void check_ranks(const State& resumed, const char* in_step_key) const;

  /// This rank's next batch, and whether it is the last of all ranks; nothing at the end of the epoch of all. Called by
  /// all ranks, in the same place.
  std::optional<data::LoadedBatch> next();
  /// How many ranks have a batch where this one has `newest`, which `next` gave it last. Called by all ranks.
  int64_t ranks_with(const data::LoadedBatch& newest);
  /// What this rank runs where its batch is absent and empty: its newest batch, or in a run that was resumed since, the
  /// first of `epoch`. Throws levin::UsageError where it has never had one.
  Batch stand_in(int64_t epoch);

 private:
  void agree_on_size();

  data::Loader& loader_;
  Comm& comm_;
  bool in_step_ = true;
  std::optional<int64_t> size_;
  int64_t ranks_with_batch_ = 0;      ///< in the newest round, where ranks are not in step
  std::optional<Batch> newest_ = {};  ///< kept where ranks are not in step
};

}  // namespace levin
