#pragma once
#include <levin/data/loading/indices.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace levin::data {

/// The order of one epoch's samples, by position; immutable, so threads can share it.
class SampleOrder {
 public:
  virtual ~SampleOrder() = default;
  virtual int64_t size() const = 0;
  /// Sets `out` to the samples at positions [position, position + count).
  virtual void at(int64_t position, int64_t count, Indices& out) const = 0;
};

/// Makes the order of each epoch, which depends on (seed, epoch) alone. Called from one thread.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Returns the number of samples in one epoch.
  virtual int64_t size() const = 0;
  virtual std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const = 0;
};

/// Divides an epoch into batches, for other batch sizes or groupings than DataLoader's own.
class BatchSampler {
 public:
  virtual ~BatchSampler() = default;
  /// Returns the number of batches in one epoch.
  virtual int64_t size() const = 0;
  /// Returns the batches of an epoch, each a list of samples; depends on (seed, epoch) alone.
  virtual std::shared_ptr<const std::vector<std::vector<int64_t>>> batches(uint64_t seed, int64_t epoch) const = 0;
};

/// The order 0, 1, 2, ...
class SequentialSampler final : public Sampler {
 public:
  explicit SequentialSampler(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  int64_t size_;
};

/// Every sample once, in a new random order for each epoch. Up to 65536 samples the order is a shuffled list; above, it
/// is a computed permutation, which takes no memory.
class RandomSampler final : public Sampler {
 public:
  explicit RandomSampler(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  int64_t size_;
};

/// The samples of a list: in its order, or in a new random order for each epoch.
class SubsetSampler final : public Sampler {
 public:
  /// Throws levin::UsageError for an empty list.
  explicit SubsetSampler(std::vector<int64_t> indices, bool shuffle = false);
  int64_t size() const override { return static_cast<int64_t>(indices_->size()); }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  std::shared_ptr<const std::vector<int64_t>> indices_;
  bool shuffle_;
};

/// Draws `num_samples` samples, sample i with the probability weights[i] / sum of weights.
///
/// With replacement, a draw is a search in the cumulative weights; without, the whole order is drawn at once
/// (Efraimidis and Spirakis 2006). Source: torch.utils.data.WeightedRandomSampler.
class WeightedRandomSampler final : public Sampler {
 public:
  /// Throws levin::UsageError for no weights, a weight that is negative or not finite, a sum of zero, `num_samples`
  /// below 1 and, without replacement, more samples than positive weights.
  WeightedRandomSampler(std::vector<double> weights, int64_t num_samples, bool replacement = true);
  int64_t size() const override { return num_samples_; }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  std::vector<double> weights_;
  std::shared_ptr<const std::vector<double>> cumulative_ = {};
  int64_t num_samples_;
  bool replacement_;
};

/// Groups samples of similar length into batches of `batch_size`, in random order: less padding for sequences.
///
/// The samples are shuffled; each stretch of `batches_per_group` batches is sorted by length, longest first; then the
/// full batches are shuffled. The full batch with the longest sample comes first, so that running out of memory happens
/// at the start. A batch that is not full stays last.
class LengthGroupedSampler final : public Sampler {
 public:
  /// `lengths` has the length of each sample. Throws levin::UsageError if it is empty and for sizes below 1.
  LengthGroupedSampler(std::vector<int64_t> lengths, int64_t batch_size, int64_t batches_per_group = 50);
  int64_t size() const override { return static_cast<int64_t>(lengths_.size()); }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  std::vector<int64_t> lengths_;
  int64_t batch_size_, batches_per_group_;
};

/// The part of another sampler's order that belongs to rank `rank` of `world`: positions rank, rank + world, ... A
/// DataLoader divides its own order among ranks; this sampler is for user loops and loaders.
///
/// If the size is not a multiple of `world`: with `Uneven` the parts differ by one sample, with `Drop` the last samples
/// are left out, with `Pad` the first samples are repeated. Source: torch.utils.data.DistributedSampler.
class DistributedSampler final : public Sampler {
 public:
  enum class Rest { Uneven, Drop, Pad };
  /// Throws levin::UsageError for a rank outside [0, world).
  DistributedSampler(std::shared_ptr<const Sampler> sampler, int64_t rank, int64_t world, Rest rest = Rest::Uneven);
  int64_t size() const override;
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  std::shared_ptr<const Sampler> sampler_;
  int64_t rank_, world_;
  Rest rest_;
};

/// Returns the order given by a list of indices; most user samplers return this.
std::shared_ptr<const SampleOrder> listed_order(std::vector<int64_t> indices);

}  // namespace levin::data
