#include <levin/data/data_loader.h>
#include <levin/trainer/core/error.h>

#include <algorithm>

namespace levin::data {
namespace {

void check(const DataLoaderOptions& options) {
  schema_of<DataLoaderOptions>().check(&options, "data");
  if (options.num_workers > 0) {
    throw UsageError("data.num_workers: ", options.num_workers, " cannot run yet in this version; use 0");
  }
  if (options.pin_memory) throw UsageError("data.pin_memory: true cannot run yet in this version; use false");
}

std::shared_ptr<const Sampler> default_sampler(int64_t size, bool shuffle) {
  if (shuffle) return std::make_shared<RandomSampler>(size);
  return std::make_shared<SequentialSampler>(size);
}

}  // namespace

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, DataLoaderOptions options,
                       std::shared_ptr<const Sampler> sampler)
    : dataset_(std::move(dataset)),
      options_(std::move(options)),
      sampler_(std::move(sampler)),
      seed_(static_cast<uint64_t>(options_.seed.value_or(0))) {
  check(options_);
  if (!dataset_) throw UsageError("DataLoader: got a null pointer to a dataset");
  if (sampler_ && options_.shuffle) throw UsageError("data.shuffle: true, but the loader has a sampler of its own");
  if (dataset_->size() < 1) throw UsageError("DataLoader: the dataset is empty");
  if (!sampler_) sampler_ = default_sampler(dataset_->size(), options_.shuffle);
  samples_ = sampler_->size();
  if (samples_ < 1) throw UsageError("DataLoader: the sampler gives no samples");
  if (options_.drop_last && samples_ < options_.batch_size) {
    throw UsageError("data.batch_size: ", options_.batch_size, " is more than the ", samples_,
                     " samples there are, and data.drop_last leaves no batch; use a smaller batch_size");
  }
}

std::optional<LoadedBatch> DataLoader::next() {
  const int64_t batch_size = options_.batch_size;
  const int64_t smallest = options_.drop_last ? batch_size : 1;
  const int64_t count = std::min(batch_size, samples_ - position_);
  if (count < smallest) return {};
  if (!order_) order_ = sampler_->order(seed_, epoch_);
  Indices indices = order_->at(position_, count);
  indices.seed = seed_;
  indices.epoch = epoch_;
  std::optional<LoadedBatch> loaded(std::in_place);
  dataset_->get_batch(indices, loaded->batch);
  position_ += count;
  loaded->samples = count;
  loaded->last = samples_ - position_ < smallest;
  return loaded;
}

std::optional<int64_t> DataLoader::size() const {
  return options_.drop_last ? samples_ / options_.batch_size
                            : (samples_ + options_.batch_size - 1) / options_.batch_size;
}

void DataLoader::set_epoch(int64_t epoch) {
  if (epoch != epoch_) order_ = nullptr;
  epoch_ = epoch;
  position_ = 0;
}

void DataLoader::set_default_seed(uint64_t seed) {
  if (options_.seed || seed == seed_) return;
  seed_ = seed;
  order_ = nullptr;
}

bool DataLoader::use_sequential_order() {
  options_.shuffle = false;
  sampler_ = default_sampler(dataset_->size(), /*shuffle=*/false);
  samples_ = sampler_->size();
  order_ = nullptr;
  return true;
}

State DataLoader::state_dict() const {
  return State::dict(
      {{"epoch", epoch_}, {"position", position_}, {"seed", static_cast<int64_t>(seed_)}, {"samples", samples_}});
}

void DataLoader::load_state_dict(const State& state) {
  const int64_t samples = state.at("samples").to_int(), position = state.at("position").to_int();
  if (samples != samples_) {
    throw UsageError("data: the state was saved with ", samples, " samples, but there are ", samples_,
                     " now; resume with the same data");
  }
  if (position < 0 || position > samples_) {
    throw Error("data: the state's position is ", position, ", outside the ", samples_, " samples there are");
  }
  epoch_ = state.at("epoch").to_int();
  seed_ = static_cast<uint64_t>(state.at("seed").to_int());
  position_ = position;
  order_ = nullptr;
}

}  // namespace levin::data
