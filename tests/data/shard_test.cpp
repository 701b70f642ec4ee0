#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/catch.h"
#include "tests/data/counting.h"

using namespace levin::data;
using levin::testing::counting;
using levin::testing::range;
using levin::testing::rest_of;
using levin::testing::sorted;
using levin::testing::values;

namespace {

using List = std::vector<int64_t>;
/// The samples of each rank, for each round.
using Rounds = std::vector<std::vector<List>>;

Rounds rounds_of(int64_t samples, DataLoaderOptions options, int64_t world, const levin::State* state = nullptr) {
  Rounds rounds;
  for (int64_t rank = 0; rank < world; ++rank) {
    DataLoader loader(counting(samples), options);
    loader.shard(rank, world);
    if (state) loader.load_state_dict(*state);
    const auto batches = loader.size().value();
    size_t round = 0;
    for (bool last = false; !last; ++round) {
      const auto loaded = loader.next();
      REQUIRE(loaded);
      last = loaded->last;
      if (rank == 0) rounds.emplace_back();
      REQUIRE(round < rounds.size());
      rounds[round].push_back(loaded->samples == 0 ? List() : values(loaded->batch.target()));
    }
    CHECK_FALSE(loader.next());
    CHECK(round == rounds.size());
    if (!state) CHECK(batches == static_cast<int64_t>(round));
  }
  return rounds;
}

List joined(const std::vector<List>& parts) {
  List all;
  for (const List& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

List all_of(const Rounds& rounds) {
  List all;
  for (const auto& round : rounds) {
    const List part = joined(round);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

TEST_CASE("every sample comes once in an epoch, on any number of ranks") {
  for (const int64_t world : {1, 2, 3, 4, 7}) {
    for (const int64_t samples : {1, 8, 22, 23}) {
      for (const bool shuffle : {false, true}) {
        const Rounds rounds = rounds_of(samples, {.batch_size = 2, .shuffle = shuffle, .seed = 3}, world);
        CHECK(sorted(all_of(rounds)) == range(samples));
      }
    }
  }
}

TEST_CASE("the samples of a global batch do not depend on the number of ranks") {
  const auto global = [](int64_t world) {
    std::vector<List> batches;
    for (const auto& round : rounds_of(22, {.batch_size = 12 / world, .shuffle = true, .seed = 3}, world)) {
      batches.push_back(joined(round));
    }
    return batches;
  };
  const auto one = global(1);
  REQUIRE(one.size() == 2);
  for (const int64_t world : {2, 3, 4, 6}) CHECK(global(world) == one);
}

TEST_CASE("the last round is divided evenly, dropped or filled up, as asked") {
  const auto last = [](const std::string& rest, int64_t samples) {
    return rounds_of(samples, {.batch_size = 2, .partial_round = rest}, 4).back();
  };
  CHECK(last("uneven", 14) == std::vector<List>{{8, 9}, {10, 11}, {12}, {13}});
  CHECK(last("drop", 14) == std::vector<List>{{8}, {9}, {10}, {11}});
  CHECK(last("pad", 14) == std::vector<List>{{8, 9}, {10, 11}, {12, 13}, {0, 1}});
  CHECK(last("uneven", 10) == std::vector<List>{{8}, {9}, {}, {}});
  CHECK(last("drop", 10) == std::vector<List>{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(last("pad", 10) == std::vector<List>{{8}, {9}, {0}, {1}});
  CHECK(rounds_of(14, {.batch_size = 2, .drop_last = true}, 4).size() == 1);
}

TEST_CASE("a rank without a part of a round is given a sample of another, which does not count") {
  for (const bool uneven : {true, false}) {
    DataLoader loader(counting(10), {.batch_size = 2, .partial_round = uneven ? "uneven" : "pad"});
    loader.shard(3, 4);
    CHECK(loader.in_step());
    CHECK_FALSE(loader.next()->absent);
    const auto last = loader.next();
    CHECK(last->last);
    CHECK(last->absent == uneven);
    CHECK(last->samples == (uneven ? 0 : 1));
    CHECK(values(last->batch.target()) == (uneven ? List{9} : List{1}));
  }
  CHECK_FALSE(DataLoader(counting(10)).in_step());
}

TEST_CASE("another number of ranks resumes from a state with the very next samples") {
  const DataLoaderOptions options{.batch_size = 3, .shuffle = true, .seed = 3};
  DataLoader whole(counting(30), options);
  const List order = rest_of(whole);
  DataLoader first(counting(30), options);
  first.shard(1, 2);
  first.next();
  first.next();
  const levin::State state = first.state_dict();
  CHECK(state.at("position").to_int() == 12);
  for (const int64_t world : {1, 2, 3}) {
    CHECK(all_of(rounds_of(30, options, world, &state)) == List(order.begin() + 12, order.end()));
  }
}

TEST_CASE("a batch sampler divides the epoch itself") {
  class Growing : public BatchSampler {
   public:
    int64_t size() const override { return 3; }
    std::shared_ptr<const std::vector<List>> batches(uint64_t, int64_t epoch) const override {
      return std::make_shared<const std::vector<List>>(epoch == 0 ? std::vector<List>{{0}, {1, 2}, {3, 4, 5}}
                                                                  : std::vector<List>{{5}, {4, 3}, {2, 1, 0}});
    }
  };
  const DataLoaderOptions options{.batch_sampler = std::make_shared<Growing>()};
  const Rounds expected = {{{0}}, {{1, 2}}, {{3, 4, 5}}};
  CHECK(rounds_of(6, options, 1) == expected);
  const Rounds divided = {{{0}, {1, 2}}, {{3, 4, 5}, {}}};
  CHECK(rounds_of(6, options, 2) == divided);
  DataLoader second(counting(6), options);
  second.shard(1, 2);
  second.next();
  const auto absent = second.next();
  CHECK(absent->absent);
  CHECK(values(absent->batch.target()) == List{3, 4, 5});
  DataLoader loader(counting(6), options);
  loader.set_epoch(1);
  CHECK(values(loader.next()->batch.target()) == List{5});
  DataLoader resumed(counting(6), options);
  resumed.load_state_dict(loader.state_dict());
  CHECK(rest_of(resumed) == List{4, 3, 2, 1, 0});
  CHECK_THROWS_AS(DataLoader(counting(6), {.batch_size = 2, .batch_sampler = std::make_shared<Growing>()}),
                  levin::UsageError);
}
