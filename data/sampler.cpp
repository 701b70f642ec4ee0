#include <levin/data/sampler.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/permutation.h>
#include <levin/data/rng.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace levin::data {
namespace {

/// Up to this many samples a random order is a shuffled list; above, it is a computed permutation.
constexpr int64_t kMostListed = 1 << 16;

using List = std::vector<int64_t>;

class RangeOrder final : public SampleOrder {
 public:
  explicit RangeOrder(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  void at(int64_t position, int64_t count, Indices& out) const override { out.set_range(position, count); }

 private:
  int64_t size_;
};

class ListedOrder final : public SampleOrder {
 public:
  explicit ListedOrder(std::shared_ptr<const List> indices) : indices_(std::move(indices)) {}
  int64_t size() const override { return static_cast<int64_t>(indices_->size()); }
  void at(int64_t position, int64_t count, Indices& out) const override {
    std::copy_n(indices_->begin() + position, count, out.resize(count).begin());
  }

 private:
  std::shared_ptr<const List> indices_;
};

class ComputedOrder final : public SampleOrder {
 public:
  explicit ComputedOrder(Permutation permutation) : permutation_(permutation) {}
  int64_t size() const override { return permutation_.size(); }
  void at(int64_t position, int64_t count, Indices& out) const override {
    for (int64_t& index : out.resize(count)) index = permutation_[position++];
  }

 private:
  Permutation permutation_;
};

/// The items of a list, in the order of `positions`.
class SubsetOrder final : public SampleOrder {
 public:
  SubsetOrder(std::shared_ptr<const List> items, std::shared_ptr<const SampleOrder> positions)
      : items_(std::move(items)), positions_(std::move(positions)) {}
  int64_t size() const override { return positions_->size(); }
  void at(int64_t position, int64_t count, Indices& out) const override {
    positions_->at(position, count, out);
    for (int64_t& index : out.resize(count)) index = (*items_)[static_cast<size_t>(index)];
  }

 private:
  std::shared_ptr<const List> items_;
  std::shared_ptr<const SampleOrder> positions_;
};

class WeightedOrder final : public SampleOrder {
 public:
  WeightedOrder(std::shared_ptr<const std::vector<double>> cumulative, int64_t size, uint64_t seed, int64_t epoch)
      : cumulative_(std::move(cumulative)), size_(size), seed_(seed), epoch_(epoch) {}
  int64_t size() const override { return size_; }
  void at(int64_t position, int64_t count, Indices& out) const override {
    const double end = std::nextafter(cumulative_->back(), 0.0);
    for (int64_t& index : out.resize(count)) {
      const double wanted = std::min(Rng(seed_, epoch_, position++).uniform(0, cumulative_->back()), end);
      index = std::ranges::upper_bound(*cumulative_, wanted) - cumulative_->begin();
    }
  }

 private:
  std::shared_ptr<const std::vector<double>> cumulative_;
  int64_t size_;
  uint64_t seed_;
  int64_t epoch_;
};

/// Every world-th position of another order, starting at `rank`; wraps around at the end of that order.
class DistributedOrder final : public SampleOrder {
 public:
  DistributedOrder(std::shared_ptr<const SampleOrder> order, int64_t rank, int64_t world, int64_t size)
      : order_(std::move(order)), rank_(rank), world_(world), size_(size) {}
  int64_t size() const override { return size_; }
  void at(int64_t position, int64_t count, Indices& out) const override {
    Indices one;
    for (int64_t& index : out.resize(count)) {
      order_->at((rank_ + world_ * position++) % order_->size(), 1, one);
      index = one[0];
    }
  }

 private:
  std::shared_ptr<const SampleOrder> order_;
  int64_t rank_, world_, size_;
};

/// Returns the generator of an epoch's order; index -1, since the random numbers of samples use the indices from 0.
Rng order_rng(uint64_t seed, int64_t epoch) { return Rng(seed, epoch, -1); }

/// Shuffles by the Fisher-Yates method.
template <class T>
void shuffle(std::vector<T>& items, Rng& rng) {
  for (size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[static_cast<size_t>(rng.randint(0, static_cast<int64_t>(i)))]);
  }
}

List range(int64_t size) {
  List all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

std::shared_ptr<const SampleOrder> shuffled(int64_t size, uint64_t seed, int64_t epoch) {
  Rng rng = order_rng(seed, epoch);
  if (size > kMostListed) {
    const uint64_t high = rng();
    return std::make_shared<ComputedOrder>(Permutation(size, high << 32 | rng()));
  }
  List indices = range(size);
  shuffle(indices, rng);
  return listed_order(std::move(indices));
}

}  // namespace

std::shared_ptr<const SampleOrder> listed_order(std::vector<int64_t> indices) {
  return std::make_shared<ListedOrder>(std::make_shared<const List>(std::move(indices)));
}

std::shared_ptr<const SampleOrder> SequentialSampler::order(uint64_t /*seed*/, int64_t /*epoch*/) const {
  return std::make_shared<RangeOrder>(size_);
}

std::shared_ptr<const SampleOrder> RandomSampler::order(uint64_t seed, int64_t epoch) const {
  return shuffled(size_, seed, epoch);
}

SubsetSampler::SubsetSampler(std::vector<int64_t> indices, bool shuffle)
    : indices_(std::make_shared<const List>(std::move(indices))), shuffle_(shuffle) {
  if (indices_->empty()) throw UsageError("SubsetSampler: the list of indices is empty");
}

std::shared_ptr<const SampleOrder> SubsetSampler::order(uint64_t seed, int64_t epoch) const {
  if (!shuffle_) return std::make_shared<ListedOrder>(indices_);
  return std::make_shared<SubsetOrder>(indices_, shuffled(size(), seed, epoch));
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, int64_t num_samples, bool replacement)
    : weights_(std::move(weights)), num_samples_(num_samples), replacement_(replacement) {
  double sum = 0;
  std::vector<double> cumulative;
  cumulative.reserve(weights_.size());
  for (const double weight : weights_) {
    if (!(weight >= 0) || !std::isfinite(weight)) {
      throw UsageError("WeightedRandomSampler: a weight must be finite and at least 0, got ", weight);
    }
    cumulative.push_back(sum += weight);
  }
  if (!(sum > 0) || !std::isfinite(sum)) throw UsageError("WeightedRandomSampler: the weights add up to ", sum);
  const int64_t positive = std::ranges::count_if(weights_, [](double weight) { return weight > 0; });
  if (num_samples < 1) throw UsageError("WeightedRandomSampler: num_samples must be at least 1, got ", num_samples);
  if (!replacement && num_samples > positive) {
    throw UsageError("WeightedRandomSampler: ", num_samples, " samples without replacement, but only ", positive,
                     " weights are not 0");
  }
  cumulative_ = std::make_shared<const std::vector<double>>(std::move(cumulative));
}

std::shared_ptr<const SampleOrder> WeightedRandomSampler::order(uint64_t seed, int64_t epoch) const {
  if (replacement_) return std::make_shared<WeightedOrder>(cumulative_, num_samples_, seed, epoch);
  // The sample with the least exponential variate of rate `weight` comes first.
  Rng rng = order_rng(seed, epoch);
  std::vector<double> keys;
  keys.reserve(weights_.size());
  for (const double weight : weights_) {
    const double exponential = -std::log(1 - rng.uniform());
    keys.push_back(weight > 0 ? exponential / weight : std::numeric_limits<double>::infinity());
  }
  List indices = range(static_cast<int64_t>(weights_.size()));
  const auto before = [&](int64_t a, int64_t b) {
    const double key_a = keys[static_cast<size_t>(a)], key_b = keys[static_cast<size_t>(b)];
    return key_a != key_b ? key_a < key_b : a < b;
  };
  std::ranges::partial_sort(indices, indices.begin() + num_samples_, before);
  indices.resize(static_cast<size_t>(num_samples_));
  return listed_order(std::move(indices));
}

LengthGroupedSampler::LengthGroupedSampler(std::vector<int64_t> lengths, int64_t batch_size, int64_t batches_per_group)
    : lengths_(std::move(lengths)), batch_size_(batch_size), batches_per_group_(batches_per_group) {
  if (lengths_.empty()) throw UsageError("LengthGroupedSampler: the list of lengths is empty");
  if (batch_size < 1 || batches_per_group < 1) {
    throw UsageError("LengthGroupedSampler: batch_size and batches_per_group must be at least 1, got ", batch_size,
                     " and ", batches_per_group);
  }
}

std::shared_ptr<const SampleOrder> LengthGroupedSampler::order(uint64_t seed, int64_t epoch) const {
  Rng rng = order_rng(seed, epoch);
  List indices = range(size());
  shuffle(indices, rng);
  const auto length = [&](int64_t index) { return lengths_[static_cast<size_t>(index)]; };
  std::vector<List> batches;
  const int64_t group = batch_size_ * batches_per_group_;
  for (int64_t start = 0; start < size(); start += group) {
    const auto begin = indices.begin() + start, end = indices.begin() + std::min(start + group, size());
    std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return length(a) > length(b); });
    for (auto from = begin; from < end; from += std::min<int64_t>(batch_size_, end - from)) {
      batches.emplace_back(from, from + std::min<int64_t>(batch_size_, end - from));
    }
  }
  // A batch that is not full stays at the end; elsewhere it would shift the loader's batch boundaries.
  List rest;
  if (static_cast<int64_t>(batches.back().size()) < batch_size_) {
    rest = std::move(batches.back());
    batches.pop_back();
  }
  shuffle(batches, rng);
  const auto longest = std::ranges::max_element(batches, {}, [&](const List& batch) { return length(batch.front()); });
  if (longest != batches.end()) std::iter_swap(batches.begin(), longest);
  batches.push_back(std::move(rest));
  indices.clear();
  for (const List& batch : batches) indices.insert(indices.end(), batch.begin(), batch.end());
  return listed_order(std::move(indices));
}

DistributedSampler::DistributedSampler(std::shared_ptr<const Sampler> sampler, int64_t rank, int64_t world, Rest rest)
    : sampler_(std::move(sampler)), rank_(rank), world_(world), rest_(rest) {
  if (!sampler_) throw UsageError("DistributedSampler: got a null pointer to a sampler");
  if (world < 1 || rank < 0 || rank >= world) {
    throw UsageError("DistributedSampler: no rank ", rank, " in a world of ", world);
  }
}

int64_t DistributedSampler::size() const {
  const int64_t all = sampler_->size(), whole = all / world_, more = all % world_;
  if (rest_ == Rest::Drop) return whole;
  if (rest_ == Rest::Pad) return whole + (more > 0);
  return whole + (rank_ < more);
}

std::shared_ptr<const SampleOrder> DistributedSampler::order(uint64_t seed, int64_t epoch) const {
  return std::make_shared<DistributedOrder>(sampler_->order(seed, epoch), rank_, world_, size());
}

}  // namespace levin::data
