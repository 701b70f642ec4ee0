#pragma once
#include <levin/data/loading/indices.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace levin::data {

/// The order of one epoch's samples, by position; never changes, so it can be shared between threads.
class SampleOrder {
 public:
  virtual ~SampleOrder() = default;
  virtual int64_t size() const = 0;
  /// Sets `out` to the samples at [position, position + count).
  virtual void at(int64_t position, int64_t count, Indices& out) const = 0;
};

/// Makes the order of each epoch, which depends on (seed, epoch) alone. Called from one thread.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Samples of one epoch.
  virtual int64_t size() const = 0;
  virtual std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const = 0;
};

/// Divides an epoch into batches in a way of its own: other sizes, or which samples stand together.
class BatchSampler {
 public:
  virtual ~BatchSampler() = default;
  /// Batches of one epoch.
  virtual int64_t size() const = 0;
  /// The batches of an epoch, each a list of samples; depends on (seed, epoch) alone.
  virtual std::shared_ptr<const std::vector<std::vector<int64_t>>> batches(uint64_t seed, int64_t epoch) const = 0;
};

/// 0, 1, 2, ...
class SequentialSampler final : public Sampler {
 public:
  explicit SequentialSampler(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  int64_t size_;
};

/// Every sample once, in an order drawn anew for each epoch. The order is computed position by position, in no memory.
class RandomSampler final : public Sampler {
 public:
  explicit RandomSampler(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  int64_t size_;
};

/// The samples of a list: in its order, or in one drawn anew for each epoch.
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

/// `num_samples` draws in which sample i has the probability weights[i] / sum of weights.
///
/// With replacement a draw costs a search in the cumulative weights; without, the order is drawn at once (Efraimidis
/// and Spirakis 2006). Source: torch.utils.data.WeightedRandomSampler.
class WeightedRandomSampler final : public Sampler {
 public:
  /// Throws levin::UsageError for no weights, a weight that is negative or not finite, a sum of zero, fewer than one
  /// sample and, without replacement, more samples than there are positive weights.
  WeightedRandomSampler(std::vector<double> weights, int64_t num_samples, bool replacement = true);
  int64_t size() const override { return num_samples_; }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  std::vector<double> weights_;
  std::shared_ptr<const std::vector<double>> cumulative_ = {};
  int64_t num_samples_;
  bool replacement_;
};

/// Samples of like length stand together, in batches of `batch_size` of random order: less padding for sequences.
///
/// The samples are shuffled; each stretch of `batches_per_group` batches is sorted by length, longest first; the
/// batches are shuffled. The batch with the longest sample comes first, so that memory runs out at once or not at all.
class LengthGroupedSampler final : public Sampler {
 public:
  /// `lengths` has the length of each sample. Throws levin::UsageError for none and for sizes below 1.
  LengthGroupedSampler(std::vector<int64_t> lengths, int64_t batch_size, int64_t batches_per_group = 50);
  int64_t size() const override { return static_cast<int64_t>(lengths_.size()); }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  std::vector<int64_t> lengths_;
  int64_t batch_size_, batches_per_group_;
};

/// The part of another sampler's order that belongs to rank `rank` of `world`: positions rank, rank + world, ... A
/// DataLoader divides its own order among ranks; this is for own loops and loaders.
///
/// Where the size is no multiple of `world`, ranks get parts that differ by one sample; with `drop_last` the last
/// samples are left out, with `pad` the first ones are given again. Source: torch.utils.data.DistributedSampler.
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

/// The order that a list of indices gives; what most own samplers return.
std::shared_ptr<const SampleOrder> listed_order(std::vector<int64_t> indices);

}  // namespace levin::data
