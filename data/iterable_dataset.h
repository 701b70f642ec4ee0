#pragma once
#include <levin/core/state/state.h>
#include <levin/data/batch.h>
#include <levin/data/rng.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace levin::data {

/// The part of an iterable dataset to read, and the seed of its order.
struct StreamOptions {
  uint64_t seed = 0;
  int64_t epoch = 0;
  bool shuffle = false;
  int64_t rank = 0, world = 1;
};

/// One epoch's samples in sequence. Not thread-safe.
class SampleStream {
 public:
  virtual ~SampleStream() = default;
  /// Returns the next sample, without a sample dimension and cheap to get; nothing at the end.
  virtual std::optional<Batch> next() = 0;
  /// Returns the position after the last sample, so that `load_state_dict` of a new stream with the same options
  /// continues without reading the earlier samples. Unset by default: a resumed loader then reads the epoch again up to
  /// there.
  virtual std::optional<State> state_dict() const { return {}; }
  virtual void load_state_dict(const State& /*state*/) {}
};

/// Samples without random access: streams, archives, data larger than memory.
class IterableDataset {
 public:
  virtual ~IterableDataset() = default;
  /// Starts an epoch. The stream is read by one thread at a time, for any number of workers.
  virtual std::unique_ptr<SampleStream> open(const StreamOptions& options) const = 0;
  /// Returns the number of samples per epoch, if known: of all ranks or, if `open` divides them, of one rank.
  virtual std::optional<int64_t> size() const { return {}; }
  /// Returns whether `open` divides the samples among ranks; otherwise each rank's loader reads all and takes its part.
  virtual bool divides_among_ranks() const { return false; }
  /// Makes a batch of samples from the stream, with one of `rngs` per sample. Costly work belongs here: the method is
  /// called from several threads at once. The default stacks. `out` may hold an earlier batch, as in
  /// Dataset::get_batch.
  virtual void make_batch(std::vector<Batch> samples, std::vector<Rng>& rngs, Batch& out) const;
  /// Returns the names of the values of `target`, if these are classes with names.
  virtual std::vector<std::string> class_names() const { return {}; }
};

}  // namespace levin::data
