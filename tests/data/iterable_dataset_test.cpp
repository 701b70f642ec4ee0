#include <levin/data/iterable_dataset.h>
#include <ATen/ops/full.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>

#include <algorithm>
#include <atomic>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/counting.h"
#include "tests/error_text.h"

using levin::Batch;
using levin::State;
using namespace levin::data;
using levin::testing::range;
using levin::testing::rest_of;
using levin::testing::values;

namespace {

using List = std::vector<int64_t>;

/// Gives 0, 1, ..., backwards if shuffled; with or without a state.
class Numbers : public IterableDataset {
 public:
  explicit Numbers(int64_t size, bool has_state = true, bool divides = false)
      : size_(size), has_state_(has_state), divides_(divides) {}

  std::unique_ptr<SampleStream> open(const StreamOptions& options) const override {
    return std::make_unique<Stream>(*this, options);
  }
  bool divides_among_ranks() const override { return divides_; }
  mutable std::atomic<int64_t> read = 0;

 private:
  class Stream : public SampleStream {
   public:
    Stream(const Numbers& numbers, const StreamOptions& options)
        : numbers_(numbers), options_(options), next_(options.rank) {}
    std::optional<Batch> next() override {
      if (next_ >= numbers_.size_) return {};
      ++numbers_.read;
      const int64_t value = options_.shuffle ? numbers_.size_ - 1 - next_ : next_;
      if (value == 1000) throw levin::Error("the stream broke");
      next_ += options_.world;
      return Batch(at::full({1}, value), at::full({}, value, at::TensorOptions(at::kLong)));
    }
    std::optional<State> state_dict() const override {
      return numbers_.has_state_ ? std::optional(State::dict({{"next", next_}})) : std::nullopt;
    }
    void load_state_dict(const State& state) override { next_ = state.at("next").to_int(); }

   private:
    const Numbers& numbers_;
    StreamOptions options_;
    int64_t next_;
  };

  int64_t size_;
  bool has_state_, divides_;
};

/// Gives a random number for each sample, drawn where the costly work is done.
class NoisyNumbers : public Numbers {
 public:
  using Numbers::Numbers;
  void make_batch(std::vector<Batch> samples, std::vector<Rng>& rngs, Batch& out) const override {
    for (size_t i = 0; i < samples.size(); ++i) samples[i].set("noise", at::full({}, rngs[i].uniform()));
    out = Batch::stack(samples);
  }
};

std::vector<double> noise_of(Loader& loader, int64_t epoch) {
  loader.set_epoch(epoch);
  std::vector<double> all;
  while (auto loaded = loader.next()) {
    for (int64_t i = 0; i < loaded->samples; ++i) all.push_back(loaded->batch["noise"][i].item<double>());
  }
  return all;
}

}  // namespace

TEST_CASE("a stream's samples come in order, whatever the number of workers") {
  for (const int64_t workers : {0, 1, 4}) {
    DataLoader loader(std::make_shared<Numbers>(23), {.batch_size = 4, .num_workers = workers});
    CHECK_FALSE(loader.size());
    CHECK(rest_of(loader) == range(23));
    CHECK_FALSE(loader.next());
    loader.set_epoch(1);
    for (int i = 0; i < 5; ++i) CHECK_FALSE(loader.next()->last);
    const auto sixth = loader.next();
    CHECK(sixth->last);
    CHECK(sixth->samples == 3);
  }
  DataLoader backwards(std::make_shared<Numbers>(5), {.batch_size = 2, .shuffle = true});
  CHECK(rest_of(backwards) == List{4, 3, 2, 1, 0});
  CHECK(backwards.use_sequential_order());
  backwards.set_epoch(0);
  CHECK(rest_of(backwards) == range(5));
}

TEST_CASE("the random numbers of a stream's samples depend on seed, epoch and place") {
  const auto dataset = std::make_shared<NoisyNumbers>(23);
  DataLoader none(dataset, {.batch_size = 4, .seed = 3});
  const auto expected = noise_of(none, 1);
  CHECK(expected.size() == 23);
  CHECK(noise_of(none, 0) != expected);
  DataLoader workers(dataset, {.batch_size = 5, .num_workers = 3, .seed = 3});
  CHECK(noise_of(workers, 1) == expected);
}

TEST_CASE("a stream with a state resumes without reading what came before") {
  for (const int64_t workers : {0, 2}) {
    const auto dataset = std::make_shared<Numbers>(100);
    const DataLoaderOptions options{.batch_size = 4, .num_workers = workers};
    DataLoader first(dataset, options), second(dataset, options);
    for (int i = 0; i < 20; ++i) first.next();
    const State state = first.state_dict();
    first.set_epoch(0);
    dataset->read = 0;
    second.load_state_dict(state);
    CHECK(rest_of(second).front() == 80);
    CHECK(dataset->read == 20);
  }
}

TEST_CASE("a stream without a state is read again up to its place, with a warning") {
  const auto dataset = std::make_shared<Numbers>(30, /*has_state=*/false);
  DataLoader first(dataset, {.batch_size = 4}), second(dataset, {.batch_size = 4});
  for (int i = 0; i < 3; ++i) first.next();
  const CapturedStderr captured;
  second.load_state_dict(first.state_dict());
  CHECK(rest_of(second).front() == 12);
  CHECK(occurrences(captured.text(), "data: 12 samples are read again") == 1);
  State beyond = first.state_dict();
  beyond["position"] = 31;
  second.load_state_dict(beyond);
  CHECK(error_text([&] { second.next(); }) ==
        "data: the state stands after sample 31, but the stream ends after 30; it is of other data");
}

TEST_CASE("a stream's samples are divided among ranks once each, by the loader or by the dataset") {
  for (const bool divides : {false, true}) {
    for (const int64_t world : {2, 3}) {
      List all;
      for (int64_t rank = 0; rank < world; ++rank) {
        DataLoader loader(std::make_shared<Numbers>(23, true, divides), {.batch_size = 4});
        loader.shard(rank, world);
        const List part = rest_of(loader);
        all.insert(all.end(), part.begin(), part.end());
      }
      std::ranges::sort(all);
      CHECK(all == range(23));
    }
  }
}

TEST_CASE("drop_last leaves out a stream's short last batch") {
  DataLoader loader(std::make_shared<Numbers>(10), {.batch_size = 4, .drop_last = true});
  CHECK_FALSE(loader.next()->last);
  CHECK(loader.next()->last);
  CHECK_FALSE(loader.next());
}

TEST_CASE("an error of a stream is thrown in the training thread, and the next epoch starts again") {
  for (const int64_t workers : {0, 2}) {
    DataLoader loader(std::make_shared<Numbers>(2000), {.batch_size = 100, .num_workers = workers});
    for (int i = 0; i < 10; ++i) CHECK_FALSE(loader.next()->last);
    CHECK(error_text([&] { loader.next(); }) == "the stream broke");
    CHECK_FALSE(loader.next());
    loader.set_epoch(1);
    CHECK(values(loader.next()->batch.target()) == range(100));
  }
}

TEST_CASE("on demand a stream is read neither ahead nor again") {
  for (const bool has_state : {true, false}) {
    const auto dataset = std::make_shared<Numbers>(10, has_state);
    DataLoader loader(dataset, {.batch_size = 4, .on_demand = true});
    CHECK(values(loader.next()->batch.target()) == range(4));
    CHECK(dataset->read == 4);
    const State state = loader.state_dict();
    CHECK_FALSE(loader.next()->last);
    const auto short_one = loader.next();
    CHECK(short_one->samples == 2);
    CHECK(short_one->last);
    CHECK_FALSE(loader.next());
    CHECK(dataset->read == 10);

    DataLoader resumed(dataset, {.batch_size = 4, .on_demand = true});
    resumed.load_state_dict(state);
    CHECK(values(resumed.next()->batch.target()).front() == (has_state ? 4 : 0));
    CHECK(dataset->read == 14);
  }
  const auto dataset = std::make_shared<Numbers>(10);
  CHECK_THROWS_AS(DataLoader(dataset, {.num_workers = 1, .on_demand = true}), levin::UsageError);
}

TEST_CASE("options of map-style datasets are refused for a stream") {
  const auto dataset = std::make_shared<Numbers>(10);
  CHECK_THROWS_AS(DataLoader(dataset, {.sampler = std::make_shared<SequentialSampler>(10)}), levin::UsageError);
}
