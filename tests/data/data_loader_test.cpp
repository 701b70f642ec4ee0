#include <levin/data/data_loader.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <set>

#include "tests/catch.h"
#include "tests/data/counting.h"
#include "tests/error_text.h"

using levin::Batch;
using namespace levin::data;
using levin::testing::counting;
using levin::testing::range;
using levin::testing::values;

namespace {

/// Returns the targets of the rest of an epoch.
std::vector<int64_t> drain(Loader& loader) {
  std::vector<int64_t> all;
  bool last = false;
  while (auto loaded = loader.next()) {
    CHECK_FALSE(last);
    last = loaded->last;
    CHECK(loaded->samples == loaded->batch.size());
    for (const int64_t value : values(loaded->batch.target())) all.push_back(value);
  }
  return all;
}

/// A dataset as a user writes it: one sample, with a random transform.
class Noisy : public Dataset {
 public:
  int64_t size() const override { return 10; }
  Batch get(int64_t index, Rng& rng) const override {
    const at::Tensor i = at::arange(index, index + 1, at::TensorOptions(at::kLong)).squeeze(0);
    return Batch(i + rng.uniform(), i);
  }
};

class Nothing : public Dataset {
 public:
  int64_t size() const override { return 3; }
};

class Backwards : public Sampler {
 public:
  int64_t size() const override { return 4; }
  std::shared_ptr<const SampleOrder> order(uint64_t, int64_t) const override { return listed_order({3, 2, 1, 0}); }
};

}  // namespace

TEST_CASE("a range-for goes through the next epoch, or through what set_epoch or a loaded state has left") {
  DataLoader loader(counting(10), {.batch_size = 4, .shuffle = true, .seed = 3});
  const auto in_range = [&] {
    std::vector<int64_t> all;
    for (const LoadedBatch& loaded : loader)
      for (const int64_t value : values(loaded.batch.target())) all.push_back(value);
    return all;
  };
  const auto of_epoch = [](int64_t epoch) {
    DataLoader other(counting(10), {.batch_size = 4, .shuffle = true, .seed = 3});
    other.set_epoch(epoch);
    return drain(other);
  };
  CHECK(in_range() == of_epoch(0));
  CHECK(in_range() == of_epoch(1));
  loader.set_epoch(5);
  CHECK(in_range() == of_epoch(5));
  for (const LoadedBatch& loaded : loader)
    if (loaded.samples == 4) break;  // epoch 6 is left early
  const levin::State inside = loader.state_dict();
  CHECK(in_range() == of_epoch(7));
  loader.load_state_dict(inside);
  const std::vector<int64_t> sixth = of_epoch(6);
  CHECK(in_range() == std::vector<int64_t>(sixth.begin() + 4, sixth.end()));
  CHECK(DataLoader(loader).begin()->batch.size() == 4);
}

TEST_CASE("a loader hands out every sample once, in order, and says which batch is the last") {
  DataLoader loader(counting(10), {.batch_size = 4});
  CHECK(loader.size() == 3);
  const auto first = loader.next();
  CHECK(first->samples == 4);
  CHECK_FALSE(first->last);
  CHECK(first->batch.input().sizes() == at::IntArrayRef({4, 1}));
  CHECK(values(first->batch.target()) == std::vector<int64_t>{0, 1, 2, 3});
  CHECK_FALSE(loader.next()->last);
  const auto third = loader.next();
  CHECK(third->samples == 2);
  CHECK(third->last);
  CHECK_FALSE(loader.next());
  CHECK_FALSE(loader.next());
  loader.set_epoch(1);
  CHECK(drain(loader) == range(10));
}

TEST_CASE("drop_last leaves out a short last batch") {
  DataLoader loader(counting(10), {.batch_size = 4, .drop_last = true});
  CHECK(loader.size() == 2);
  CHECK_FALSE(loader.next()->last);
  CHECK(loader.next()->last);
  CHECK_FALSE(loader.next());
  DataLoader even(counting(8), {.batch_size = 4, .drop_last = true});
  CHECK(drain(even) == range(8));
}

TEST_CASE("a shuffled order has every sample once and depends on seed and epoch alone") {
  const auto order = [](int64_t seed, int64_t epoch, int64_t batch_size) {
    DataLoader loader(counting(50), {.batch_size = batch_size, .shuffle = true, .seed = seed});
    loader.set_epoch(epoch);
    return drain(loader);
  };
  auto shuffled = order(1, 0, 7);
  CHECK(shuffled != range(50));
  CHECK(shuffled == order(1, 0, 16));
  CHECK(shuffled != order(1, 1, 7));
  CHECK(shuffled != order(2, 0, 7));
  std::ranges::sort(shuffled);
  CHECK(shuffled == range(50));
}

TEST_CASE("the run's seed counts if the options have none") {
  DataLoader unset(counting(50), {.batch_size = 50, .shuffle = true});
  DataLoader set(counting(50), {.batch_size = 50, .shuffle = true, .seed = 7});
  const auto own = drain(set);
  unset.set_default_seed(7);
  set.set_default_seed(8);
  set.set_epoch(0);
  CHECK(drain(unset) == own);
  CHECK(drain(set) == own);
}

TEST_CASE("a loader resumes from a state with the very next sample") {
  const DataLoaderOptions options{.batch_size = 4, .shuffle = true, .seed = 3};
  DataLoader whole(counting(18), options);
  whole.set_epoch(2);
  const auto expected = drain(whole);
  for (int64_t stop = 0; stop <= 5; ++stop) {
    DataLoader before(counting(18), options);
    before.set_epoch(2);
    std::vector<int64_t> seen;
    for (int64_t i = 0; i < stop; ++i) {
      for (const int64_t value : values(before.next()->batch.target())) seen.push_back(value);
    }
    CHECK(before.state_dict().at("position").to_int() == std::min<int64_t>(18, 4 * stop));
    // Seed and batch size differ: the state holds the order, and its position in samples.
    DataLoader after(counting(18), {.batch_size = 5, .shuffle = true, .seed = 99});
    after.next();
    after.load_state_dict(before.state_dict());
    for (const int64_t value : drain(after)) seen.push_back(value);
    CHECK(seen == expected);
  }
}

TEST_CASE("the state of other data is refused") {
  DataLoader loader(counting(10), {.batch_size = 4});
  const levin::State other = DataLoader(counting(11), {.batch_size = 4}).state_dict();
  CHECK_THROWS_WITH(loader.load_state_dict(other),
                    "data: the state was saved with 11 samples, but there are 10 now; resume with the same data");
  levin::State broken = loader.state_dict();
  broken["position"] = 12;
  CHECK_THROWS_AS(loader.load_state_dict(broken), levin::Error);
}

TEST_CASE("samples are stacked, and their random numbers do not depend on the batch size") {
  const auto inputs = [](int64_t batch_size, int64_t epoch) {
    DataLoader loader(Noisy(), {.batch_size = batch_size, .shuffle = true, .seed = 4});
    loader.set_epoch(epoch);
    std::set<double> all;
    while (auto loaded = loader.next()) {
      for (int64_t i = 0; i < loaded->samples; ++i) all.insert(loaded->batch.input()[i].item<double>());
    }
    return all;
  };
  CHECK(inputs(3, 0).size() == 10);
  CHECK(inputs(3, 0) == inputs(7, 0));
  CHECK(inputs(3, 0) != inputs(3, 1));
}

TEST_CASE("changing a batch in place leaves the dataset as it is") {
  for (const bool shuffle : {false, true}) {
    DataLoader loader(counting(4), {.batch_size = 4, .shuffle = shuffle});
    loader.next()->batch.target().zero_();
    loader.set_epoch(0);
    auto again = drain(loader);
    std::ranges::sort(again);
    CHECK(again == range(4));
  }
}

TEST_CASE("a user's sampler gives the order") {
  DataLoader loader(counting(10), {.batch_size = 3, .sampler = std::make_shared<Backwards>()});
  CHECK(loader.size() == 2);
  CHECK(drain(loader) == std::vector<int64_t>{3, 2, 1, 0});
  CHECK_THROWS_WITH(DataLoader(counting(10), {.shuffle = true, .sampler = std::make_shared<Backwards>()}),
                    "data.shuffle: true, but the loader has a sampler of its own");
}

TEST_CASE("a copy of a loader has its own position") {
  DataLoader loader(counting(10), {.batch_size = 4});
  loader.next();
  DataLoader copy = loader;
  drain(copy);
  CHECK(values(loader.next()->batch.target()).front() == 4);
}

TEST_CASE("what a loader cannot do is refused by name") {
  CHECK(error_text([] { DataLoader(counting(4), {.batch_size = 0}); }).find("data.batch_size") == 0);
  CHECK_THROWS_WITH(
      DataLoader(counting(4), {.batch_size = 8, .drop_last = true}),
      "data.batch_size: 8 is more than the 4 samples there are, and data.drop_last leaves no batch; use a "
      "smaller batch_size");
  CHECK_THROWS_WITH(DataLoader(counting(0)), "DataLoader: the dataset is empty");
  CHECK_THROWS_AS(DataLoader(counting(0)), levin::UsageError);
  DataLoader loader(counting(4));
  CHECK_THROWS_WITH(loader.shard(2, 2), "DataLoader: no rank 2 in a world of 2");
}

TEST_CASE("a dataset that overrides nothing says so") {
  DataLoader loader{Nothing()};
  CHECK(error_text([&] { loader.next(); }).find("overrides neither get(index, rng) nor get_batch(indices, out)") !=
        std::string::npos);
}
