#include <levin/data/loading/indexed_source.h>
#include <c10/util/Type.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/loads_elsewhere.h>

#include <algorithm>
#include <typeinfo>
#include <utility>

namespace levin::data {
namespace {

/// At most this many samples of a batch are named in a message.
constexpr int64_t kMostNamed = 4;

void check_combination(const DataLoaderOptions& options) {
  if (options.batch_sampler) {
    if (options.sampler || options.shuffle || options.drop_last || options.batch_size != 1) {
      throw UsageError("DataLoader: a batch_sampler decides alone; leave batch_size, shuffle, sampler and drop_last");
    }
  } else if (options.sampler && options.shuffle) {
    throw UsageError("data.shuffle: true, but the loader has a sampler of its own");
  }
}

std::shared_ptr<const Sampler> sampler_of(const Dataset& dataset, const DataLoaderOptions& options) {
  if (options.sampler || options.batch_sampler) return options.sampler;
  if (options.shuffle) return std::make_shared<RandomSampler>(dataset.size());
  return std::make_shared<SequentialSampler>(dataset.size());
}

}  // namespace

IndexedSource::IndexedSource(DatasetPtr dataset, DataLoaderOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  if (!dataset_) throw UsageError("DataLoader: got a null pointer to a dataset");
  if (options_.on_demand) throw UsageError("DataLoader: on_demand is for iterable datasets, this one has an index");
  check_combination(options_);
  if (dataset_->size() < 1) throw UsageError("DataLoader: the dataset is empty");
  options_.sampler = sampler_of(*dataset_, options_);
  options_.shuffle = false;
  if ((options_.sampler ? options_.sampler->size() : options_.batch_sampler->size()) < 1) {
    throw UsageError("DataLoader: the sampler gives no samples");
  }
  if (options_.sampler && options_.drop_last && options_.sampler->size() < options_.batch_size) {
    throw UsageError("data.batch_size: ", options_.batch_size, " is more than the ", options_.sampler->size(),
                     " samples there are, and data.drop_last leaves no batch; use a smaller batch_size");
  }
}

void IndexedSource::begin(const EpochKey& key, const EpochPosition& position) {
  if (key.seed != key_.seed || key.epoch != key_.epoch) {
    order_ = nullptr;
    batches_ = nullptr;
  }
  key_ = key;
  position_ = position;
}

bool IndexedSource::plan(BatchPlan& plan) {
  const bool planned = options_.sampler ? plan_samples(plan) : plan_listed_batch(plan);
  plan.indices.seed = key_.seed;
  plan.indices.epoch = key_.epoch;
  return planned;
}

bool IndexedSource::has_more(int64_t position, int64_t total, const EpochKey& key) const {
  const int64_t left = total - position;
  if (options_.drop_last) return left >= options_.batch_size * key.world;
  return options_.partial_round == PartialRound::Drop ? left >= key.world : left > 0;
}

bool IndexedSource::plan_samples(BatchPlan& plan) {
  if (!order_) order_ = options_.sampler->order(key_.seed, key_.epoch);
  const int64_t total = order_->size();
  if (!has_more(position_.samples, total, key_)) return false;
  const int64_t round = std::min(options_.batch_size * key_.world, total - position_.samples);
  RankPart part = part_of_round(round, options_.batch_size, key_, options_.partial_round);
  plan.absent = part.begin == part.end;
  if (plan.absent) part = stand_in_of_round(round, key_);
  const int64_t begin = position_.samples + part.begin, end = position_.samples + part.end;
  if (end <= total) {
    order_->at(begin, end - begin, plan.indices);
  } else {
    Indices one;
    int64_t position = begin;
    for (int64_t& index : plan.indices.resize(end - begin)) {
      order_->at(position++ % total, 1, one);
      index = one[0];
    }
  }
  position_.samples += round;
  plan.after = position_;
  plan.last = !has_more(position_.samples, total, key_);
  return true;
}

bool IndexedSource::plan_listed_batch(BatchPlan& plan) {
  if (!batches_) batches_ = options_.batch_sampler->batches(key_.seed, key_.epoch);
  const auto count = static_cast<int64_t>(batches_->size());
  const int64_t first = position_.batches, end = std::min(first + key_.world, count);
  if (first >= count) return false;
  plan.absent = first + key_.rank >= end;
  const int64_t own = plan.absent ? first + stand_in_of_round(end - first, key_).begin : first + key_.rank;
  for (int64_t i = first; i < end; ++i) {
    const std::vector<int64_t>& batch = (*batches_)[static_cast<size_t>(i)];
    position_.samples += static_cast<int64_t>(batch.size());
    if (i == own) std::ranges::copy(batch, plan.indices.resize(static_cast<int64_t>(batch.size())).begin());
  }
  position_.batches = end;
  plan.after = position_;
  plan.last = end == count;
  return true;
}

void IndexedSource::load(BatchPlan& plan, Batch& out) const {
  if (plan.indices.size() == 0) {
    out = Batch();
  } else if (options_.collate) {
    out = options_.collate(get_samples(*dataset_, plan.indices));
  } else {
    dataset_->get_batch(plan.indices, out);
  }
}

bool IndexedSource::loads_here() const { return dynamic_cast<const LoadsElsewhere*>(dataset_.get()) == nullptr; }

std::optional<int64_t> IndexedSource::size(const EpochKey& key) const {
  if (!options_.sampler) return (options_.batch_sampler->size() + key.world - 1) / key.world;
  const int64_t total = options_.sampler->size(), round = options_.batch_size * key.world, full = total / round;
  return full + has_more(full * round, total, key);
}

std::optional<int64_t> IndexedSource::samples() const {
  return options_.sampler ? options_.sampler->size() : dataset_->size();
}

bool IndexedSource::use_sequential_order() {
  if (!options_.sampler) return false;
  options_.sampler = std::make_shared<SequentialSampler>(dataset_->size());
  order_ = nullptr;
  return true;
}

std::string IndexedSource::describe(const BatchPlan& plan) const {
  const Dataset& dataset = *dataset_;
  std::string text = c10::str(c10::demangle(typeid(dataset).name()), ", batch of ");
  const int64_t size = plan.indices.size();
  text += size == 1 ? "sample" : "samples";
  for (int64_t i = 0; i < std::min(size, kMostNamed); ++i) text += c10::str(i == 0 ? " " : ", ", plan.indices[i]);
  return size > kMostNamed ? text + ", ..." : text;
}

// The clone does not copy the members of the current epoch: a worker may be planning with them.
std::unique_ptr<BatchSource> IndexedSource::clone() const {
  return std::make_unique<IndexedSource>(dataset_, options_);
}

}  // namespace levin::data
