#include <levin/data/loader.h>
#include <levin/trainer/core/console.h>
#include <levin/trainer/core/error.h>

namespace levin::data {

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

State BatchListLoader::state_dict() const { return State::dict({{"epoch", epoch_}, {"position", samples_}}); }

void BatchListLoader::load_state_dict(const State& state) {
  const int64_t position = state.at("position").to_int();
  set_epoch(state.at("epoch").to_int());
  while (samples_ < position && next_ < batches_.size()) samples_ += batches_[next_++].size();
  if (samples_ != position) {
    throw Error("loader: the state stands after sample ", position, ", where none of these batches ends; they are ",
                "other batches than those it was saved with");
  }
}

std::optional<LoadedBatch> StreamLoader::next() {
  if (!stream_) {
    stream_ = open_(epoch_);
    ahead_ = stream_();
  }
  if (!ahead_) return {};
  LoadedBatch loaded{*std::move(ahead_)};
  loaded.samples = loaded.batch.size();
  samples_ += loaded.samples;
  ahead_ = stream_();
  loaded.last = !ahead_;
  return loaded;
}

void StreamLoader::set_epoch(int64_t epoch) {
  epoch_ = epoch;
  samples_ = 0;
  stream_ = {};
  ahead_.reset();
}

State StreamLoader::state_dict() const { return State::dict({{"epoch", epoch_}, {"position", samples_}}); }

void StreamLoader::load_state_dict(const State& state) {
  const int64_t position = state.at("position").to_int();
  set_epoch(state.at("epoch").to_int());
  if (position > 0) {
    console::warn(c10::str("data: ", position, " samples of a stream are read again to find the place where it stood"));
  }
  while (samples_ < position && next()) {
  }
  if (samples_ != position) {
    throw Error("loader: the state stands after sample ", position,
                ", where none of this stream's batches ends; it is ", "another stream than the one it was saved with");
  }
}

void Loaders::add(LoaderEntry entry) {
  if (!entry.loader) throw UsageError("Loaders: got a null pointer to a loader");
  loaders_.push_back(std::move(entry.loader));
}

}  // namespace levin::data
