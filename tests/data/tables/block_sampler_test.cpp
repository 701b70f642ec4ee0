#include <levin/data/tables/block_sampler.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/catch.h"

namespace levin::data {
namespace {

std::vector<int64_t> all_of(const BlockSampler& sampler, uint64_t seed, int64_t epoch) {
  Indices indices;
  sampler.order(seed, epoch)->at(0, sampler.size(), indices);
  return {indices.begin(), indices.end()};
}

TEST_CASE("an order of blocks has each sample once, follows the seed and the epoch, and begins at any place") {
  const std::vector<int64_t> sizes = {7, 0, 1, 30, 12, 12, 5, 0, 9, 100, 3};
  for (const int64_t batch : {1, 4, 50})
    for (const int64_t lanes : {1, 2, 3, 24})
      for (const int64_t group : {1, 2}) {
        const BlockSampler sampler(sizes, batch, lanes, group);
        std::vector<int64_t> samples = all_of(sampler, 5, 1);
        CHECK(samples == all_of(sampler, 5, 1));
        CHECK(samples != all_of(sampler, 5, 2));
        CHECK(samples != all_of(sampler, 6, 1));
        Indices some;
        sampler.order(5, 1)->at(17, 20, some);
        CHECK(std::equal(some.begin(), some.end(), samples.begin() + 17));
        std::ranges::sort(samples);
        std::vector<int64_t> expected(static_cast<size_t>(sampler.size()));
        std::iota(expected.begin(), expected.end(), 0);
        CHECK(samples == expected);
      }
}

TEST_CASE("if the ranks divide the lanes, a block is read by one rank, but for the end of an epoch") {
  constexpr int64_t kBlocks = 48, kRows = 64, kBatch = 8, kLanes = 12;
  const BlockSampler sampler(std::vector<int64_t>(kBlocks, kRows), kBatch, kLanes, 2);
  const std::vector<int64_t> samples = all_of(sampler, 1, 0);
  for (const int64_t world : {1, 2, 3, 4, 6, 12}) {
    std::vector<std::set<int64_t>> ranks(kBlocks);
    for (int64_t i = 0; i < sampler.size(); ++i)
      ranks[static_cast<size_t>(samples[static_cast<size_t>(i)] / kRows)].insert(i / kBatch % world);
    CHECK(std::ranges::all_of(ranks, [](const auto& of_block) { return of_block.size() == 1; }));
  }
}

TEST_CASE("lanes are as many as there is room for") {
  CHECK(lanes_for(1000, 100, 100).lanes == 1);
  CHECK(lanes_for(1000, 100, 100 * 64).lanes == 24);
  CHECK(lanes_for(1000, 100, 100 * 64).group == 2);
  CHECK(lanes_for(1000, 100, 100 * 8).lanes == 6);
  CHECK(lanes_for(5, 100, 100 * 64).lanes == 4);
  CHECK(lanes_for(1, 0, 1).lanes == 1);
}

}  // namespace
}  // namespace levin::data
