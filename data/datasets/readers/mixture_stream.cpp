#include <levin/data/datasets/readers/mixture_stream.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

/// Keeps the random numbers that choose datasets independent of those of samples.
constexpr uint64_t kMixtureSeed = 0x4d49585455524501;
/// A part that starts again in an epoch gets the order of an epoch beyond all real ones.
constexpr int kPassBits = 20;

bool can_repeat(const MixtureDatasetOptions& mixing) {
  return !mixing.in_sequence && mixing.stopping_strategy == StoppingStrategy::AllExhausted;
}

}  // namespace

MixtureStream::MixtureStream(Parts parts, const MixtureDatasetOptions& mixing, const StreamOptions& options)
    : parts_(std::move(parts)), mixing_(mixing), options_(options), places_(parts_->size()) {}

uint64_t MixtureStream::seed_of(size_t i) const {
  // Samples of the same index in two datasets draw different numbers.
  return (part(i).seed ? static_cast<uint64_t>(*part(i).seed) : options_.seed) + (static_cast<uint64_t>(i) << 32);
}

int64_t MixtureStream::epoch_of(const Place& place) const { return options_.epoch + (place.pass << kPassBits); }

void MixtureStream::open(size_t i) {
  Place& place = places_[i];
  if (place.stream || place.order) return;
  const MixturePart& source = part(i);
  const bool shuffle = options_.shuffle && source.shuffle;
  if (source.stream) {
    place.stream =
        source.stream->open({.seed = seed_of(i), .epoch = epoch_of(place), .shuffle = shuffle, .rank = 0, .world = 1});
    return;
  }
  const int64_t size = source.dataset->size();
  const std::shared_ptr<const Sampler> sampler =
      source.sampler ? source.sampler
      : shuffle      ? std::shared_ptr<const Sampler>(std::make_shared<RandomSampler>(size))
                     : std::make_shared<SequentialSampler>(size);
  place.order = sampler->order(seed_of(i), epoch_of(place));
}

size_t MixtureStream::draw(double whole) const {
  Rng rng(options_.seed ^ kMixtureSeed, options_.epoch, given_);
  double left = rng.uniform(0, whole);
  size_t last = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].ended && !can_repeat(mixing_)) continue;
    last = i;
    left -= part(i).weight;
    if (left < 0) break;
  }
  return last;
}

std::optional<size_t> MixtureStream::choose() const {
  const bool repeats = can_repeat(mixing_);
  double whole = 0, least = 0;
  std::optional<size_t> first, behind;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].ended && !repeats) continue;
    whole += part(i).weight;
    const double share = static_cast<double>(places_[i].due + 1) / part(i).weight;
    if (!behind || share < least) {
      behind = i;
      least = share;
    }
    if (!first) first = i;
  }
  if (!first || mixing_.in_sequence) return first;
  return options_.shuffle ? draw(whole) : *behind;
}

std::optional<Batch> MixtureStream::take(size_t i) {
  open(i);
  Place& place = places_[i];
  MixtureSample sample{.part = static_cast<int64_t>(i), .seed = seed_of(i), .epoch = epoch_of(place)};
  if (place.stream) {
    std::optional<Batch> next = place.stream->next();
    if (!next) return {};
    sample.sample = *std::move(next);
  } else {
    if (place.taken >= place.order->size()) return {};
    place.order->at(place.taken, 1, index_);
    sample.index = index_[0];
  }
  ++place.taken;
  ++place.due;
  ++given_;
  return Batch(std::move(sample));
}

bool MixtureStream::continues_after(size_t i) {
  Place& place = places_[i];
  if (place.taken == 0) throw UsageError("Mixture: dataset ", i, " has no samples");
  place.ended = true;
  place.stream = nullptr;
  if (!mixing_.in_sequence && mixing_.stopping_strategy == StoppingStrategy::FirstExhausted) return false;
  if (std::ranges::all_of(places_, &Place::ended)) return false;
  if (can_repeat(mixing_)) {
    place.pass += 1;
    place.taken = 0;
    place.order = nullptr;
  }
  return true;
}

std::optional<Batch> MixtureStream::next() {
  while (!ended_) {
    const std::optional<size_t> chosen = choose();
    if (!chosen) break;
    if (std::optional<Batch> sample = take(*chosen)) return sample;
    ended_ = !continues_after(*chosen);
  }
  return {};
}

std::optional<State> MixtureStream::state_dict() const {
  State parts = State::list();
  for (const Place& place : places_) {
    State state =
        State::dict({{"pass", place.pass}, {"taken", place.taken}, {"due", place.due}, {"ended", place.ended}});
    if (place.stream) {
      std::optional<State> stream = place.stream->state_dict();
      if (!stream) return {};
      state["stream"] = *std::move(stream);
    }
    parts.push_back(std::move(state));
  }
  return State::dict({{"given", given_}, {"ended", ended_}, {"parts", std::move(parts)}});
}

void MixtureStream::load_state_dict(const State& state) {
  const auto& parts = state.at("parts").items();
  if (parts.size() != places_.size())
    throw Error("Mixture: the state was saved with ", parts.size(), " datasets, now there are ", places_.size());
  given_ = state.at("given").to_int();
  ended_ = state.at("ended").to_bool();
  for (size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    place = {.pass = parts[i].at("pass").to_int(),
             .taken = parts[i].at("taken").to_int(),
             .due = parts[i].at("due").to_int(),
             .ended = parts[i].at("ended").to_bool()};
    if (const State* const stream = parts[i].find("stream")) {
      open(i);
      if (place.stream) place.stream->load_state_dict(*stream);
    }
  }
}

}  // namespace levin::data
