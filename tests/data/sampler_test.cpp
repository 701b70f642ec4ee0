#include <levin/data/sampler.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/permutation.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/catch.h"
#include "tests/data/counting.h"

using namespace levin::data;
using levin::testing::range;
using levin::testing::sorted;

namespace {

using List = std::vector<int64_t>;

List all_of(const SampleOrder& order) {
  Indices indices;
  order.at(0, order.size(), indices);
  List all;
  for (int64_t i = 0; i < indices.size(); ++i) all.push_back(indices[i]);
  return all;
}

/// Checks that an order read in pieces, from the middle, equals the whole order.
void check_pieces(const SampleOrder& order) {
  const List all = all_of(order);
  Indices piece;
  for (int64_t position = 0; position + 3 <= order.size(); position += 7) {
    order.at(position, 3, piece);
    for (int64_t i = 0; i < 3; ++i) CHECK(piece[i] == all[static_cast<size_t>(position + i)]);
  }
}

}  // namespace

TEST_CASE("a computed permutation has every number once, whatever the size") {
  for (const int64_t size : {1, 2, 3, 4, 5, 31, 32, 33, 1000, 65537}) {
    const Permutation permutation(size, 7);
    List all;
    for (int64_t i = 0; i < size; ++i) all.push_back(permutation[i]);
    CHECK(sorted(all) == range(size));
  }
}

TEST_CASE("a computed permutation puts every number at every place, and after every other") {
  constexpr int64_t kSize = 16;
  constexpr int kDraws = 16000;
  std::vector<int> places(kSize * kSize), followers(kSize * kSize);
  for (int draw = 0; draw < kDraws; ++draw) {
    const Permutation permutation(kSize, static_cast<uint64_t>(draw));
    for (int64_t i = 0; i < kSize; ++i) {
      ++places[static_cast<size_t>(i * kSize + permutation[i])];
      ++followers[static_cast<size_t>(permutation[i] * kSize + permutation[(i + 1) % kSize])];
    }
  }
  // Chi-square with 225 and about 224 degrees of freedom: 5 sigma above the mean is 331.
  const auto chi_square = [](const std::vector<int>& counts, double expected, bool skip_diagonal) {
    double sum = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (skip_diagonal && i / kSize == i % kSize) continue;
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
  };
  CHECK(chi_square(places, kDraws / 16.0, false) < 331);
  CHECK(chi_square(followers, kDraws / 15.0, true) < 331);
}

TEST_CASE("random orders have every sample once and depend on seed and epoch alone") {
  for (const int64_t size : {50, 100000}) {  // listed and computed
    const RandomSampler sampler(size);
    const auto order = sampler.order(1, 2);
    const List all = all_of(*order);
    CHECK(sorted(all) == range(size));
    CHECK(all != range(size));
    CHECK(all == all_of(*sampler.order(1, 2)));
    CHECK(all != all_of(*sampler.order(1, 3)));
    CHECK(all != all_of(*sampler.order(2, 2)));
    check_pieces(*order);
  }
}

TEST_CASE("a subset's samples come in the list's order, or shuffled") {
  const List list = {9, 3, 5, 7, 1, 11, 2};
  CHECK(all_of(*SubsetSampler(list).order(0, 0)) == list);
  const List shuffled = all_of(*SubsetSampler(list, true).order(0, 0));
  CHECK(shuffled != list);
  CHECK(sorted(shuffled) == sorted(list));
  CHECK(shuffled != all_of(*SubsetSampler(list, true).order(0, 1)));
  CHECK_THROWS_WITH(SubsetSampler({}), "SubsetSampler: the list of indices is empty");
}

TEST_CASE("weighted draws follow the weights") {
  const std::vector<double> weights = {1, 0, 3, 4};
  const WeightedRandomSampler sampler(weights, 8000);
  const auto order = sampler.order(5, 0);
  std::map<int64_t, int> counts;
  for (const int64_t index : all_of(*order)) ++counts[index];
  for (const int64_t index : {0, 2, 3}) {
    const double p = weights[static_cast<size_t>(index)] / 8;
    CHECK(std::abs(counts[index] - 8000 * p) < 5 * std::sqrt(8000 * p * (1 - p)));
  }
  CHECK(counts.count(1) == 0);
  check_pieces(*order);
  CHECK(all_of(*sampler.order(5, 1)) != all_of(*order));
}

TEST_CASE("weighted draws without replacement give a sample once, heavy ones mostly first") {
  const WeightedRandomSampler sampler({1, 0, 9, 0.5}, 3, /*replacement=*/false);
  int heavy_first = 0;
  for (int64_t epoch = 0; epoch < 2000; ++epoch) {
    const List all = all_of(*sampler.order(3, epoch));
    REQUIRE(sorted(all) == List{0, 2, 3});
    heavy_first += all.front() == 2;
  }
  const double p = 9 / 10.5;
  CHECK(std::abs(heavy_first - 2000 * p) < 5 * std::sqrt(2000 * p * (1 - p)));
}

TEST_CASE("weights that give no draw are refused") {
  CHECK_THROWS_WITH(WeightedRandomSampler({1, -1}, 2),
                    "WeightedRandomSampler: a weight must be finite and at least 0, got -1");
  CHECK_THROWS_WITH(WeightedRandomSampler({0, 0}, 2), "WeightedRandomSampler: the weights add up to 0");
  CHECK_THROWS_WITH(WeightedRandomSampler({}, 2), "WeightedRandomSampler: the weights add up to 0");
  CHECK_THROWS_WITH(WeightedRandomSampler({1}, 0), "WeightedRandomSampler: num_samples must be at least 1, got 0");
  CHECK_THROWS_WITH(WeightedRandomSampler({1, 0}, 2, false),
                    "WeightedRandomSampler: 2 samples without replacement, but only 1 weights are not 0");
}

TEST_CASE("samples grouped by length stand in batches of like length, the longest first") {
  List lengths;
  for (int64_t i = 0; i < 103; ++i) lengths.push_back(1 + (i * 37) % 100);
  const LengthGroupedSampler sampler(lengths, 8, 4);
  const List all = all_of(*sampler.order(1, 0));
  CHECK(sorted(all) == range(103));
  CHECK(all != all_of(*sampler.order(1, 1)));
  const auto length = [&](int64_t index) { return lengths[static_cast<size_t>(index)]; };
  CHECK(length(all[0]) == *std::ranges::max_element(lengths));
  int64_t padding = 0, padding_unsorted = 0;
  for (size_t start = 0; start < all.size(); start += 8) {
    int64_t longest = 0, longest_unsorted = 0;
    const size_t end = std::min(start + 8, all.size());
    for (size_t i = start; i < end; ++i) {
      longest = std::max(longest, length(all[i]));
      longest_unsorted = std::max(longest_unsorted, lengths[i]);
    }
    for (size_t i = start; i < end; ++i) {
      padding += longest - length(all[i]);
      padding_unsorted += longest_unsorted - lengths[i];
    }
  }
  CHECK(padding * 2 < padding_unsorted);
  CHECK_THROWS_AS(LengthGroupedSampler({}, 8), levin::UsageError);
  CHECK_THROWS_AS(LengthGroupedSampler({1}, 0), levin::UsageError);
}

TEST_CASE("a distributed sampler divides another one's order among ranks") {
  using Rest = DistributedSampler::Rest;
  const auto inner = std::make_shared<RandomSampler>(11);
  const List whole = all_of(*inner->order(4, 1));
  const auto part = [&](int64_t rank, Rest rest) {
    const DistributedSampler sampler(inner, rank, 4, rest);
    const List all = all_of(*sampler.order(4, 1));
    CHECK(static_cast<int64_t>(all.size()) == sampler.size());
    return all;
  };
  List together;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const List uneven = part(rank, Rest::Uneven);
    CHECK(uneven.size() == (rank < 3 ? 3U : 2U));
    together.insert(together.end(), uneven.begin(), uneven.end());
    CHECK(part(rank, Rest::Drop) == List(uneven.begin(), uneven.begin() + 2));
    CHECK(part(rank, Rest::Pad).size() == 3);
  }
  CHECK(sorted(together) == range(11));
  CHECK(part(3, Rest::Pad).back() == whole.front());
  CHECK_THROWS_WITH(DistributedSampler(inner, 4, 4), "DistributedSampler: no rank 4 in a world of 4");
}
