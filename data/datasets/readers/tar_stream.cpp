#include <levin/data/datasets/readers/tar_stream.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace levin::data {
namespace {

/// Seeds that keep the order's random numbers independent of those of transforms.
constexpr uint64_t kShardSeed = 0x5348415244530001, kBufferSeed = 0x5348415244530002;

std::vector<int64_t> drawn_order(int64_t size, const StreamOptions& options) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (!options.shuffle) return order;
  Rng rng(options.seed ^ kShardSeed, options.epoch, 0);
  for (int64_t i = size - 1; i > 0; --i) {
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(rng.randint(0, i + 1))]);
  }
  return order;
}

}  // namespace

TarStream::TarStream(std::shared_ptr<ShardList> shards, const StreamOptions& options, int64_t shuffle_buffer)
    : shards_(std::move(shards)),
      options_(options),
      buffer_size_(options.shuffle ? std::max<int64_t>(1, shuffle_buffer) : 1) {
  std::vector<int64_t> own;
  int64_t turn = 0;
  for (const int64_t shard : drawn_order(shards_->size(), options))
    if (turn++ % options.world == options.rank || !divides_shards()) own.push_back(shard);
  files_ = std::make_unique<ShardFiles>(shards_, std::move(own));
}

bool TarStream::divides_shards() const { return shards_->size() >= options_.world; }

/// Goes to the next sample, in the next shard if necessary; false at the end.
bool TarStream::find_next() {
  const std::vector<int64_t>& order = files_->order();
  for (; turn_ < static_cast<int64_t>(order.size()); leave_shard()) {
    if (!reader_)
      reader_ = std::make_unique<TarShardReader>(shards_->name(order[static_cast<size_t>(turn_)]), files_->open(turn_),
                                                 offset_);
    const std::optional<int64_t> next = reader_->offset();
    if (!next) continue;
    offset_ = *next;
    return true;
  }
  return false;
}

void TarStream::leave_shard() {
  ++turn_;
  offset_ = 0;
  reader_ = nullptr;
}

std::optional<TarStream::Entry> TarStream::read() {
  while (find_next()) {
    Entry entry{{files_->order()[static_cast<size_t>(turn_)], offset_}, *reader_->next()};
    const bool mine = divides_shards() || read_ % options_.world == options_.rank;
    ++read_;
    offset_ = reader_->offset().value_or(-1);
    if (offset_ < 0) leave_shard();
    if (mine) return entry;
  }
  return {};
}

std::optional<Batch> TarStream::next() {
  while (static_cast<int64_t>(buffer_.size()) < buffer_size_) {
    std::optional<Entry> entry = read();
    if (!entry) break;
    buffer_.push_back(*std::move(entry));
  }
  if (buffer_.empty()) return {};
  if (buffer_size_ > 1) {
    Rng rng(options_.seed ^ kBufferSeed, options_.epoch, given_ * options_.world + options_.rank);
    std::swap(buffer_.back(), buffer_[static_cast<size_t>(rng.randint(0, static_cast<int64_t>(buffer_.size())))]);
  }
  ++given_;
  TarSample sample = std::move(buffer_.back().sample);
  buffer_.pop_back();
  return Batch(std::move(sample));
}

State TarStream::description() const {
  return State::dict({{"shards", shards_->size()},
                      {"rank", options_.rank},
                      {"world", options_.world},
                      {"shuffle_buffer", buffer_size_}});
}

std::optional<State> TarStream::state_dict() const {
  const auto count = static_cast<int64_t>(buffer_.size());
  at::Tensor places = at::empty({count, 2}, at::TensorOptions(at::kLong));
  auto* out = places.mutable_data_ptr<int64_t>();
  for (const Entry& entry : buffer_) {
    *out++ = entry.place.shard;
    *out++ = entry.place.offset;
  }
  State state = description();
  state["turn"] = turn_;
  state["offset"] = offset_;
  state["read"] = read_;
  state["given"] = given_;
  state["buffer"] = std::move(places);
  return state;
}

void TarStream::load_state_dict(const State& state) {
  const State mine = description();
  for (const auto& [key, value] : mine.to_dict()) {
    if (state.at(key).to_int() == value.to_int()) continue;
    throw Error("TarDataset: the state was saved with ", levin::to_text(key), " = ", state.at(key).to_int(),
                ", now it is ", value.to_int(), "; resume with the same shards, ranks and shuffle_buffer");
  }
  turn_ = state.at("turn").to_int();
  offset_ = state.at("offset").to_int();
  read_ = state.at("read").to_int();
  given_ = state.at("given").to_int();
  reader_ = nullptr;
  read_buffer(state.at("buffer").to_tensor());
}

void TarStream::read_buffer(const at::Tensor& places) {
  const at::Tensor flat = places.contiguous();
  const auto* values = flat.const_data_ptr<int64_t>();
  // Sorted by place, so that a compressed shard is read once.
  std::map<std::pair<int64_t, int64_t>, size_t> by_place;
  for (int64_t i = 0; i < flat.size(0); ++i) by_place[{values[2 * i], values[2 * i + 1]}] = static_cast<size_t>(i);
  buffer_.clear();
  buffer_.resize(by_place.size());
  std::unique_ptr<TarShardReader> reader;
  int64_t shard = -1;
  for (const auto& [place, index] : by_place) {
    if (place.first < 0 || place.first >= shards_->size()) {
      throw Error("TarDataset: the state names shard ", place.first, " of ", shards_->size());
    }
    if (std::exchange(shard, place.first) != place.first)
      reader = std::make_unique<TarShardReader>(shards_->name(shard), files_->open_shard(shard));
    reader->skip_to(place.second);
    if (reader->offset() != place.second) {
      throw Error("TarDataset: ", *shards_->name(shard), " has no sample at byte ", place.second,
                  ", where the state says that one was read; the file is another");
    }
    buffer_[index] = {{place.first, place.second}, *reader->next()};
  }
}

}  // namespace levin::data
