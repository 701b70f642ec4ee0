#pragma once
#include <levin/data/batch.h>
#include <levin/data/rng.h>
#include <levin/trainer/core/state/state.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace levin::data {

/// Which part of an iterable dataset is read, and how its order is drawn.
struct StreamOptions {
  uint64_t seed = 0;
  int64_t epoch = 0;
  bool shuffle = false;
  int64_t rank = 0, world = 1;
};

/// One epoch's samples, one after the other. Used by one thread at a time.
class SampleStream {
 public:
  virtual ~SampleStream() = default;
  /// The next sample, without a sample dimension and cheap to get; nothing at the end.
  virtual std::optional<Batch> next() = 0;
  /// The position after the last sample, so that `load_state_dict` of a new stream of the same options gives the next
  /// one without reading what came before. Nothing, the default: a resumed loader reads the epoch again up to there.
  virtual std::optional<State> state_dict() const { return {}; }
  virtual void load_state_dict(const State& /*state*/) {}
};

/// Samples that cannot be asked for by index: streams, archives, what is larger than memory.
class IterableDataset {
 public:
  virtual ~IterableDataset() = default;
  /// Begins an epoch. Reading is done by one thread at a time, whatever the number of workers.
  virtual std::unique_ptr<SampleStream> open(const StreamOptions& options) const = 0;
  /// Samples of an epoch, where known: of all ranks, or, where `open` divides them, of one.
  virtual std::optional<int64_t> size() const { return {}; }
  /// Whether `open` divides the samples among ranks; otherwise each rank's loader reads all and takes its part.
  virtual bool divides_among_ranks() const { return false; }
  /// Makes a batch of what the stream gave, with one `rngs` for each sample: the place for costly work, called from
  /// several threads at once. The default stacks. `out` may hold an earlier batch, as in Dataset::get_batch.
  virtual void make_batch(std::vector<Batch> samples, std::vector<Rng>& rngs, Batch& out) const;
  /// What the values of `target` mean, where they are classes and have names.
  virtual std::vector<std::string> class_names() const { return {}; }
};

}  // namespace levin::data
