#include <levin/data/datasets/readers/pack_rows.h>
#include <levin/core/system/error.h>
#include <levin/data/rng.h>

#include <algorithm>

#include "tests/catch.h"

using namespace levin::data;

namespace {

using Lengths = std::vector<int64_t>;

std::vector<Lengths> rows_of(const PackedRows& packed) {
  std::vector<Lengths> rows;
  int64_t begin = 0;
  for (const int64_t end : packed.ends) {
    rows.emplace_back(packed.samples.begin() + begin, packed.samples.begin() + end);
    begin = end;
  }
  return rows;
}

}  // namespace

TEST_CASE("samples are packed in order, or each into the fullest row with room") {
  const Lengths lengths = {4, 3, 6, 2, 10, 5};
  CHECK(rows_of(pack_rows(lengths, 10, Packing::InOrder)) == std::vector<Lengths>{{0, 1}, {2, 3}, {4}, {5}});
  CHECK(rows_of(pack_rows(lengths, 10, Packing::BestFit)) == std::vector<Lengths>{{0, 2}, {1, 3, 5}, {4}});
  CHECK(pack_rows({}, 10, Packing::BestFit).size() == 0);
  CHECK_THROWS_AS(pack_rows({11}, 10, Packing::BestFit), levin::Error);
  CHECK_THROWS_AS(pack_rows({0}, 10, Packing::InOrder), levin::Error);
}

TEST_CASE("packed rows hold each sample once, none is too long, and best fit leaves little room") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed, 0, 0);
    Lengths lengths;
    int64_t tokens = 0;
    for (int64_t i = 0; i < 500; ++i) tokens += lengths.emplace_back(rng.randint(1, 101));
    for (const Packing packing : {Packing::InOrder, Packing::BestFit}) {
      const PackedRows packed = pack_rows(lengths, 100, packing);
      Lengths seen = packed.samples, all(500);
      std::ranges::sort(seen);
      for (int64_t i = 0; i < 500; ++i) all[static_cast<size_t>(i)] = i;
      CHECK(seen == all);
      for (const Lengths& row : rows_of(packed)) {
        int64_t length = 0;
        for (const int64_t sample : row) length += lengths[static_cast<size_t>(sample)];
        CHECK(length <= 100);
      }
      // Best fit decreasing needs at most 11/9 of the fewest rows, and one more (Johnson 1973).
      if (packing == Packing::BestFit) CHECK(packed.size() <= (tokens / 100 + 1) * 11 / 9 + 1);
    }
  }
}
