#pragma once
#include <levin/data/loader_options.h>
#include <levin/data/loading/indices.h>
#include <levin/trainer/core/state/state.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

/// Where an epoch stands, for all ranks together.
struct EpochPosition {
  int64_t samples = 0;
  int64_t batches = 0;               ///< of a batch sampler
  std::optional<State> stream = {};  ///< of an iterable dataset, where its streams have one
};

/// What one batch is made of. Used again and again, so that its memory is, too.
struct BatchPlan {
  Indices indices = {};             ///< of a map-style dataset
  std::vector<Batch> samples = {};  ///< of an iterable one
  std::vector<Rng> rngs = {};
  bool last = false;
  bool absent = false;  ///< all samples of the round are other ranks', and these are some of theirs
  EpochPosition after = {};
};

/// The epoch that is read, and by which rank of how many.
struct EpochKey {
  uint64_t seed = 0;
  int64_t epoch = 0, rank = 0, world = 1;
};

/// Divides an epoch into batches, and loads them: what a DataLoader asks its dataset, map-style or iterable.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Begins an epoch at `position`. `begin` and `plan` are called by one thread at a time.
  virtual void begin(const EpochKey& key, const EpochPosition& position) = 0;
  /// What the next batch is made of; false at the epoch's end.
  virtual bool plan(BatchPlan& plan) = 0;
  /// Loads what `plan` says; called by several threads at once, also after `begin` of another epoch.
  virtual void load(BatchPlan& plan, Batch& out) const = 0;

  /// Batches of an epoch for one rank, where known.
  virtual std::optional<int64_t> size(const EpochKey& key) const = 0;
  /// Samples of an epoch of all ranks, where known; a saved state must have the same.
  virtual std::optional<int64_t> samples() const = 0;
  /// Whether the ranks divide samples that all of them see, so that each knows the rounds of all.
  virtual bool in_step() const = 0;
  /// Gives the samples in the data's own order from now on; false where that cannot be.
  virtual bool use_sequential_order() = 0;
  /// "data: mine::Dataset, batch of samples 3, 1, ...", for messages.
  virtual std::string describe(const BatchPlan& plan) const = 0;
  /// The same source, at no position yet.
  virtual std::unique_ptr<BatchSource> clone() const = 0;
};

/// The samples [begin, end) of a round that are one rank's.
struct RankPart {
  int64_t begin = 0, end = 0;
};

/// A round is `batch_size` samples for each rank. Of one with only `count` samples, what `rank` gets: an equal part
/// (the first ranks one sample more), where `rest` is "drop" without that one sample more, where it is "pad" always
/// with it, past the round's end.
RankPart part_of_round(int64_t count, int64_t batch_size, const EpochKey& key, const std::string& rest);

/// One of the other ranks' samples, for a rank without a part of such a round: it may run this one, so that the others'
/// collectives are complete.
inline RankPart stand_in_of_round(int64_t count, const EpochKey& key) {
  return {key.rank % count, key.rank % count + 1};
}

}  // namespace levin::data
