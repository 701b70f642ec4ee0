#include <levin/data/data_loader.h>
#include <ATen/Context.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/batch_queue.h>
#include <levin/data/loading/indexed_source.h>
#include <levin/data/loading/stream_source.h>

#include <atomic>
#include <utility>

namespace levin::data {
namespace {

DataLoaderOptions checked(DataLoaderOptions options) {
  schema_of<DataLoaderOptions>().check(&options, "data");
  return options;
}

/// Returns whether there is page-locked memory, which needs a GPU; without one, pin_memory is ignored with a warning.
bool can_pin_memory() {
  if (at::globalContext().hasCUDA()) return true;
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true)) console::warn("data.pin_memory: there is no GPU, so batches stay in ordinary memory");
  return false;
}

}  // namespace

DataLoader::DataLoader(DatasetRef dataset, DataLoaderOptions options)
    : DataLoader(std::make_shared<IndexedSource>(std::move(dataset.pointer), checked(options)), options) {}

DataLoader::DataLoader(std::shared_ptr<const IterableDataset> dataset, DataLoaderOptions options)
    : DataLoader(std::make_shared<StreamSource>(std::move(dataset), checked(options)), options) {}

DataLoader::DataLoader(std::shared_ptr<BatchSource> source, DataLoaderOptions options)
    : options_(std::move(options)), source_(std::move(source)) {
  key_.seed = static_cast<uint64_t>(options_.seed.value_or(0));
}

DataLoader::DataLoader(const DataLoader& other)
    : options_(other.options_),
      key_(other.key_),
      position_(other.position_),
      handed_out_(other.handed_out_),
      source_(other.source_->clone()) {}

DataLoader& DataLoader::operator=(const DataLoader& other) { return *this = DataLoader(other); }

DataLoader::DataLoader(DataLoader&& other) noexcept = default;
DataLoader& DataLoader::operator=(DataLoader&& other) noexcept {
  queue_ = nullptr;
  options_ = std::move(other.options_);
  key_ = other.key_;
  position_ = std::move(other.position_);
  handed_out_ = other.handed_out_;
  source_ = std::move(other.source_);
  queue_ = std::move(other.queue_);
  return *this;
}
DataLoader::~DataLoader() = default;

BatchQueue& DataLoader::queue() {
  if (!queue_) {
    queue_ = std::make_unique<BatchQueue>(
        source_, BatchQueueOptions{options_.num_workers, options_.prefetch_factor, options_.timeout_seconds,
                                   options_.pin_memory && can_pin_memory()});
    queue_->begin(key_, position_);
  }
  return *queue_;
}

void DataLoader::go_to(const EpochPosition& position) {
  position_ = position;
  if (queue_) queue_->begin(key_, position_);
}

std::optional<LoadedBatch> DataLoader::next() {
  handed_out_ = true;
  const BatchQueue::Entry* entry = queue().next();
  if (!entry) return {};
  if (entry->planned) position_ = entry->plan.after;
  if (entry->error) std::rethrow_exception(entry->error);
  const Batch& batch = entry->pinned.empty() ? entry->batch : entry->pinned;
  const bool absent = entry->plan.absent;
  return LoadedBatch{batch, absent ? 0 : batch.size(), entry->plan.last, absent};
}

DataLoader::Iterator DataLoader::begin() {
  if (handed_out_) set_epoch(key_.epoch + 1);
  return Iterator(*this);
}

DatasetPtr DataLoader::dataset() const {
  const auto* const indexed = dynamic_cast<const IndexedSource*>(source_.get());
  return indexed ? indexed->dataset() : nullptr;
}

std::shared_ptr<const IterableDataset> DataLoader::iterable_dataset() const {
  const auto* const stream = dynamic_cast<const StreamSource*>(source_.get());
  return stream ? stream->dataset() : nullptr;
}

std::optional<int64_t> DataLoader::size() const { return source_->size(key_); }

void DataLoader::set_epoch(int64_t epoch) {
  key_.epoch = epoch;
  handed_out_ = false;
  go_to({});
}

void DataLoader::set_default_seed(uint64_t seed) {
  if (options_.seed || seed == key_.seed) return;
  key_.seed = seed;
  go_to(position_);
}

bool DataLoader::use_sequential_order() {
  queue_ = nullptr;
  options_.shuffle = false;
  return source_->use_sequential_order();
}

void DataLoader::shard(int64_t rank, int64_t world) {
  if (world < 1 || rank < 0 || rank >= world) throw Error("DataLoader: no rank ", rank, " in a world of ", world);
  key_.rank = rank;
  key_.world = world;
  go_to(position_);
}

State DataLoader::state_dict() const {
  State state = State::dict({{"epoch", key_.epoch},
                             {"position", position_.samples},
                             {"batches", position_.batches},
                             {"seed", static_cast<int64_t>(key_.seed)}});
  if (const auto samples = source_->samples()) state["samples"] = *samples;
  if (position_.stream) state["stream"] = *position_.stream;
  return state;
}

void DataLoader::load_state_dict(const State& state) {
  EpochPosition position{state.at("position").to_int(), state.at("batches").to_int()};
  if (const auto samples = source_->samples()) {
    const int64_t saved = state.at("samples").to_int();
    if (saved != *samples) {
      throw UsageError("data: the state was saved with ", saved, " samples, but there are ", *samples,
                       " now; resume with the same data");
    }
    if (position.samples < 0 || position.samples > *samples) {
      throw Error("data: the state's position is ", position.samples, ", outside the ", *samples, " samples there are");
    }
  }
  if (const State* stream = state.find("stream")) position.stream = *stream;
  key_.epoch = state.at("epoch").to_int();
  key_.seed = static_cast<uint64_t>(state.at("seed").to_int());
  handed_out_ = false;
  go_to(position);
}

}  // namespace levin::data
