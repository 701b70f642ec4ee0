#include <levin/data/loading/stream_source.h>
#include <c10/util/Type.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>

#include <typeinfo>
#include <utility>

namespace levin::data {

StreamSource::StreamSource(std::shared_ptr<const IterableDataset> dataset, DataLoaderOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  if (!dataset_) throw UsageError("DataLoader: got a null pointer to a dataset");
  if (options_.sampler || options_.batch_sampler) {
    throw UsageError("DataLoader: an iterable dataset has its own order; leave sampler and batch_sampler");
  }
  if (options_.on_demand && options_.num_workers > 0)
    throw UsageError("data.num_workers: ", options_.num_workers,
                     " workers would load ahead, and the loader reads on demand; use 0");
}

void StreamSource::begin(const EpochKey& key, const EpochPosition& position) {
  key_ = key;
  if (dataset_->divides_among_ranks()) {
    rank_ = std::exchange(key_.rank, 0);
    world_ = std::exchange(key_.world, 1);
  } else {
    rank_ = 0;
    world_ = 1;
  }
  position_ = position;
  stream_ = nullptr;
  round_.clear();
  broken_ = nullptr;
  ended_ = false;
}

void StreamSource::open() {
  stream_ = dataset_->open({key_.seed, key_.epoch, options_.shuffle, rank_, world_});
  if (position_.stream) {
    stream_->load_state_dict(*position_.stream);
  } else if (position_.samples > 0 && !options_.on_demand) {
    console::warn(c10::str("data: ", position_.samples,
                           " samples are read again to find the place where the epoch stood, ",
                           "since this dataset's streams have no state_dict()"));
    for (int64_t i = 0; i < position_.samples; ++i) {
      if (stream_->next()) continue;
      throw Error("data: the state stands after sample ", position_.samples, ", but the stream ends after ", i,
                  "; it is of other data");
    }
  }
  if (!options_.on_demand) read_round();
}

void StreamSource::read_ahead() {
  round_.clear();
  if (options_.on_demand) return;
  try {
    read_round();
  } catch (...) {
    broken_ = std::current_exception();
    round_.clear();
  }
}

void StreamSource::read_round() {
  round_.clear();
  after_round_.reset();
  bool ended = false;
  while (!ended && static_cast<int64_t>(round_.size()) < options_.batch_size * key_.world) {
    std::optional<Batch> sample = stream_->next();
    ended = !sample;
    if (sample) round_.push_back(*std::move(sample));
  }
  ended_ = ended;
  after_round_ = stream_->state_dict();
}

bool StreamSource::is_enough(int64_t count) const {
  if (options_.drop_last) return count >= options_.batch_size * key_.world;
  return options_.partial_round == PartialRound::Drop ? count >= key_.world : count > 0;
}

bool StreamSource::plan(BatchPlan& plan) {
  if (!stream_) open();
  // The batches read before the error are delivered first; then the error is thrown and ends the epoch.
  if (broken_) std::rethrow_exception(std::exchange(broken_, nullptr));
  if (options_.on_demand) {
    if (std::exchange(ended_, true)) return false;
    read_round();
  }
  const auto count = static_cast<int64_t>(round_.size());
  if (!is_enough(count)) return false;
  RankPart part = part_of_round(count, options_.batch_size, key_, options_.partial_round);
  plan.absent = part.begin == part.end;
  if (plan.absent) part = stand_in_of_round(count, key_);
  plan.samples.clear();
  plan.rngs.clear();
  for (int64_t i = part.begin; i < part.end; ++i) {
    plan.samples.push_back(round_[static_cast<size_t>(i % count)]);
    const int64_t number = position_.samples + i % count;
    plan.rngs.emplace_back(key_.seed, key_.epoch, number * world_ + rank_);
  }
  position_.samples += count;
  position_.stream = std::move(after_round_);
  plan.after = position_;
  read_ahead();
  plan.last = options_.on_demand ? ended_ : !broken_ && !is_enough(static_cast<int64_t>(round_.size()));
  return true;
}

void StreamSource::load(BatchPlan& plan, Batch& out) const {
  if (plan.samples.empty()) {
    out = Batch();
  } else if (options_.collate) {
    out = options_.collate(std::exchange(plan.samples, {}));
  } else {
    dataset_->make_batch(std::exchange(plan.samples, {}), plan.rngs, out);
  }
}

std::optional<int64_t> StreamSource::size(const EpochKey& key) const {
  const std::optional<int64_t> samples = dataset_->size();
  if (!samples) return {};
  const int64_t round = options_.batch_size * (dataset_->divides_among_ranks() ? 1 : key.world);
  const int64_t full = *samples / round, left = *samples % round;
  if (options_.drop_last || left == 0) return full;
  return full + (options_.partial_round != PartialRound::Drop || left >= key.world);
}

bool StreamSource::use_sequential_order() {
  options_.shuffle = false;
  stream_ = nullptr;
  return true;
}

std::string StreamSource::describe(const BatchPlan& plan) const {
  const IterableDataset& dataset = *dataset_;
  return c10::str(c10::demangle(typeid(dataset).name()), ", the batch that ends with sample ", plan.after.samples);
}

std::unique_ptr<BatchSource> StreamSource::clone() const { return std::make_unique<StreamSource>(dataset_, options_); }

void IterableDataset::make_batch(std::vector<Batch> samples, std::vector<Rng>& /*rngs*/, Batch& out) const {
  out = Batch::stack(samples);
}

}  // namespace levin::data
