// The sum tree against a list.
#include <levin/data/replay/sum_tree.h>
#include <torch/types.h>

#include <cmath>
#include <random>

#include "tests/catch.h"

using levin::data::SumTree;

TEST_CASE("a sum tree finds items, sums and the smallest weight as a list does") {
  std::mt19937 random(3);
  for (const int64_t size : {1, 2, 5, 64, 100}) {
    SumTree tree(size);
    std::vector<double> list(static_cast<size_t>(size), 0);
    CHECK(std::isinf(tree.smallest()));
    for (int i = 0; i < 300; ++i) {
      const auto item = static_cast<int64_t>(random() % static_cast<uint32_t>(size));
      // Sums of whole numbers are exact, so that the edges of the parts are compared too.
      const double weight = random() % 4;
      tree.set(item, weight);
      list[static_cast<size_t>(item)] = weight;
      double sum = 0, smallest = INFINITY;
      for (const double w : list) {
        sum += w;
        if (w > 0) smallest = std::min(smallest, w);
      }
      REQUIRE(tree.sum() == sum);
      REQUIRE(tree.smallest() == smallest);
      if (sum == 0) continue;
      const double value = random() % static_cast<uint32_t>(sum);
      double before = 0;
      int64_t expected = 0;
      while (before + list[static_cast<size_t>(expected)] <= value) before += list[static_cast<size_t>(expected++)];
      REQUIRE(tree.find(value) == expected);
      REQUIRE(list[static_cast<size_t>(tree.find(sum))] > 0);
    }
    SumTree loaded(size);
    loaded.set_weights(tree.weights(size));
    CHECK(loaded.sum() == tree.sum());
    CHECK(loaded.smallest() == tree.smallest());
  }
}

TEST_CASE("a sum tree depends on its leaves alone, to the bit") {
  std::mt19937 random(4);
  SumTree tree(37);
  for (int i = 0; i < 1000; ++i) tree.set(random() % 37, std::pow(static_cast<double>(random()) * 1e-9, 0.6));
  SumTree loaded(37);
  loaded.set_weights(tree.weights(37));
  CHECK(loaded.sum() == tree.sum());
}
