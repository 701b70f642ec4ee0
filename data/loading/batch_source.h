#pragma once
#include <levin/core/state/state.h>
#include <levin/data/loader_options.h>
#include <levin/data/loading/indices.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

/// A position in an epoch, for all ranks together.
struct EpochPosition {
  int64_t samples = 0;
  int64_t batches = 0;               ///< batches taken from a batch sampler
  std::optional<State> stream = {};  ///< state of an iterable dataset's stream, if its streams have one
};

/// The samples that make up one batch. Reused, together with its memory.
struct BatchPlan {
  Indices indices = {};             ///< for a map-style dataset
  std::vector<Batch> samples = {};  ///< for an iterable dataset
  std::vector<Rng> rngs = {};
  bool last = false;
  bool absent = false;  ///< all samples of the round belong to other ranks; the plan holds some of theirs
  EpochPosition after = {};
};

/// The epoch being read, and the rank that reads it.
struct EpochKey {
  uint64_t seed = 0;
  int64_t epoch = 0, rank = 0, world = 1;
};

/// Divides an epoch into batches and loads them: the interface between a DataLoader and its dataset, map-style or
/// iterable.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Starts an epoch at `position`. `begin` and `plan` are called by one thread at a time.
  virtual void begin(const EpochKey& key, const EpochPosition& position) = 0;
  /// Sets `plan` to the samples of the next batch; false at the end of the epoch.
  virtual bool plan(BatchPlan& plan) = 0;
  /// Loads the samples of `plan`; called by several threads at once, also after `begin` of another epoch.
  virtual void load(BatchPlan& plan, Batch& out) const = 0;

  /// Returns whether the threads that call `load` compute; if not, they wait for other processes.
  virtual bool loads_here() const { return true; }

  /// Number of batches per epoch for one rank, if known.
  virtual std::optional<int64_t> size(const EpochKey& key) const = 0;
  /// Number of samples per epoch over all ranks, if known; a saved state must have the same number.
  virtual std::optional<int64_t> samples() const = 0;
  /// Returns whether the ranks divide samples that all of them see, so that each rank knows the rounds of all ranks.
  virtual bool in_step() const = 0;
  /// Switches to the dataset's own order; returns false if that is not possible.
  virtual bool use_sequential_order() = 0;
  /// Describes the batch in messages: "mine::Dataset, batch of samples 3, 1, ...".
  virtual std::string describe(const BatchPlan& plan) const = 0;
  /// Returns a copy of the source without a position.
  virtual std::unique_ptr<BatchSource> clone() const = 0;
};

/// The samples [begin, end) of a round that belong to one rank.
struct RankPart {
  int64_t begin = 0, end = 0;
};

/// Returns the part of a round of `count` samples that belongs to a rank. A full round has `batch_size` samples per
/// rank. A shorter round is divided equally, and `rest` handles the remainder: Uneven gives one more sample to the
/// first ranks, Drop leaves the remainder out, and Pad gives one more sample to every rank, past the end of the round.
RankPart part_of_round(int64_t count, int64_t batch_size, const EpochKey& key, PartialRound rest);

/// Returns a sample of another rank, for a rank without a part of the round: it may run this sample so that the other
/// ranks' collectives complete.
inline RankPart stand_in_of_round(int64_t count, const EpochKey& key) {
  return {key.rank % count, key.rank % count + 1};
}

}  // namespace levin::data
