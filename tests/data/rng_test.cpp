#include <levin/data/rng.h>

#include <array>

#include "tests/catch.h"

using levin::data::Rng;

TEST_CASE("random numbers depend on seed, epoch and index alone") {
  Rng rng(1, 2, 3), again(1, 2, 3);
  CHECK(rng() == again());
  const uint32_t value = Rng(1, 2, 3)();
  CHECK(Rng(2, 2, 3)() != value);
  CHECK(Rng(1, 3, 3)() != value);
  CHECK(Rng(1, 2, 4)() != value);
}

TEST_CASE("Philox gives the published numbers") {
  // Random123's known answers for philox4x32-10 with key and counter zero.
  Rng rng(0, 0, 0);
  CHECK(rng() == 0x6627e8d5U);
  CHECK(rng() == 0xe169c58dU);
  CHECK(rng() == 0xbc57ac4cU);
  CHECK(rng() == 0x9b00dbd8U);
}

TEST_CASE("uniform and normal numbers have their mean and spread") {
  Rng rng(5, 0, 0);
  double sum = 0, square = 0, uniform_sum = 0;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    const double u = rng.uniform(-1, 3);
    REQUIRE((u >= -1 && u < 3));
    uniform_sum += u;
    const double z = rng.normal(10, 2);
    sum += z;
    square += (z - 10) * (z - 10);
  }
  CHECK(uniform_sum / kCount == Approx(1).margin(0.05));
  CHECK(sum / kCount == Approx(10).margin(0.08));
  CHECK(square / kCount == Approx(4).margin(0.2));
}

TEST_CASE("randint covers its range and refuses an empty one") {
  Rng rng(6, 0, 0);
  std::array<int, 5> counts = {};
  for (int i = 0; i < 10000; ++i) ++counts.at(static_cast<size_t>(rng.randint(-2, 3) + 2));
  for (const int count : counts) CHECK(count == Approx(2000).margin(200));
  CHECK_THROWS_WITH(rng.randint(3, 3), "Rng::randint: no whole number in [3, 3)");
}
