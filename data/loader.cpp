#include <levin/data/loader.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>

namespace levin::data {
namespace {

/// The saved position of a loader. It counts batches too, since these may have no samples; older states lack that
/// count.
struct Place {
  explicit Place(const State& state) : samples(state.at("position").to_int()) {
    if (const State* count = state.find("batches")) batches = count->to_int();
  }
  bool is_at(int64_t batches_done, int64_t samples_done) const {
    return batches ? batches_done >= *batches : samples_done >= samples;
  }

  int64_t samples;
  std::optional<int64_t> batches = {};
};

}  // namespace

void Loader::shard(int64_t rank, int64_t world) {
  if (rank != 0 || world != 1) {
    throw UsageError("this loader cannot be divided among ", world, " ranks in this version; run with one device");
  }
}

BatchListLoader::BatchListLoader(std::vector<Batch> batches) : batches_(std::move(batches)) {
  if (batches_.empty()) throw UsageError("a loader of ready batches needs at least one batch, got an empty list");
}

std::optional<LoadedBatch> BatchListLoader::next() {
  if (next_ == batches_.size()) return {};
  const Batch& batch = batches_[next_++];
  const int64_t samples = batch.size();
  samples_ += samples;
  return LoadedBatch{batch, samples, next_ == batches_.size()};
}

void BatchListLoader::set_epoch(int64_t epoch) {
  epoch_ = epoch;
  samples_ = 0;
  next_ = 0;
}

State BatchListLoader::state_dict() const {
  return State::dict({{"epoch", epoch_}, {"position", samples_}, {"batches", static_cast<int64_t>(next_)}});
}

void BatchListLoader::load_state_dict(const State& state) {
  const Place place(state);
  set_epoch(state.at("epoch").to_int());
  while (!place.is_at(static_cast<int64_t>(next_), samples_) && next_ < batches_.size())
    samples_ += batches_[next_++].size();
  if (samples_ != place.samples) {
    throw Error("loader: the state stands after sample ", place.samples, ", where none of these batches ends; they ",
                "are other batches than those it was saved with");
  }
}

std::optional<Batch> StreamLoader::take() {
  std::optional<Batch> batch;
  if (!ended_) batch = stream_();
  ended_ = !batch;
  return batch;
}

std::optional<LoadedBatch> StreamLoader::next() {
  if (!stream_) {
    stream_ = open_(epoch_, batches_);
    if (!options_.on_demand) ahead_ = take();
  }
  if (options_.on_demand) ahead_ = take();
  if (!ahead_) return {};
  LoadedBatch loaded{*std::move(ahead_)};
  loaded.samples = loaded.batch.size();
  samples_ += loaded.samples;
  batches_ += 1;
  ahead_.reset();
  if (options_.on_demand) return loaded;
  ahead_ = take();
  loaded.last = !ahead_;
  return loaded;
}

void StreamLoader::begin(int64_t epoch, int64_t batches, int64_t samples) {
  epoch_ = epoch;
  batches_ = batches;
  samples_ = samples;
  stream_ = {};
  ahead_.reset();
  ended_ = false;
}

void StreamLoader::set_epoch(int64_t epoch) { begin(epoch, 0, 0); }

State StreamLoader::state_dict() const {
  return State::dict({{"epoch", epoch_}, {"position", samples_}, {"batches", batches_}});
}

void StreamLoader::load_state_dict(const State& state) {
  const Place place(state);
  if (options_.on_demand) return begin(state.at("epoch").to_int(), place.batches.value_or(0), place.samples);
  set_epoch(state.at("epoch").to_int());
  if (place.samples > 0) {
    console::warn(
        c10::str("data: ", place.samples, " samples of a stream are read again to find the place where it stood"));
  }
  while (!place.is_at(batches_, samples_) && next()) {
  }
  if (samples_ != place.samples) {
    throw Error("loader: the state stands after sample ", place.samples,
                ", where none of this stream's batches ends; it is ", "another stream than the one it was saved with");
  }
}

void Loaders::add(LoaderEntry entry) {
  if (!entry.loader) throw UsageError("Loaders: got a null pointer to a loader");
  loaders_.push_back(std::move(entry.loader));
}

}  // namespace levin::data
