#include <levin/data/transforms/random_erasing.h>
#include <ATen/ops/full.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

TEST_CASE("erased are rectangles, in the part of the images that p says") {
  const at::Tensor images = at::full({2000, 1, 20, 20}, 1.0F);
  const at::Tensor erased = applied(RandomErasing({.p = 0.3}), images).eq(0);
  int64_t count = 0;
  double least = 1, most = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    const at::Tensor places = erased[i][0].nonzero();
    if (places.size(0) == 0) continue;
    count += 1;
    const at::Tensor low = std::get<0>(places.min(0)), high = std::get<0>(places.max(0));
    const at::Tensor sides = high - low + 1;
    CHECK(sides[0].item<int64_t>() * sides[1].item<int64_t>() == places.size(0));
    least = std::min(least, static_cast<double>(places.size(0)) / 400);
    most = std::max(most, static_cast<double>(places.size(0)) / 400);
  }
  CHECK(std::abs(static_cast<double>(count) - 600) < 5 * std::sqrt(2000 * 0.3 * 0.7));
  CHECK(least == Approx(0.02).margin(0.005));
  CHECK(most == Approx(0.33).margin(0.03));
}

TEST_CASE("the ratio is height over width") {
  const at::Tensor images = at::full({50, 1, 64, 64}, 1.0F);
  const at::Tensor erased = applied(RandomErasing({.p = 1, .scale = {0.05, 0.1}, .ratio = {2, 4}}), images).eq(0);
  for (int64_t i = 0; i < 50; ++i) {
    const at::Tensor places = erased[i][0].nonzero();
    const at::Tensor sides = std::get<0>(places.max(0)) - std::get<0>(places.min(0)) + 1;
    const double ratio = sides[0].item<double>() / sides[1].item<double>();
    CHECK((ratio > 1.7 && ratio < 4.8));
  }
}

TEST_CASE("the new value is that of each channel, or drawn") {
  const at::Tensor bytes = at::full({20, 3, 9, 9}, 50).to(at::kByte);
  const at::Tensor out = applied(RandomErasing({.p = 1, .scale = {0.2, 0.3}, .value = {1, 2, 255}}), bytes);
  for (int64_t c = 0; c < 3; ++c) {
    const int64_t value = c == 2 ? 255 : c + 1;
    CHECK((out.select(1, c).eq(50) + out.select(1, c).eq(value)).all().item<bool>());
    CHECK(out.select(1, c).eq(value).flatten(1).any(1).all().item<bool>());
  }
  const at::Tensor images = at::full({200, 1, 16, 16}, 50.0F);
  const at::Tensor drawn = applied(RandomErasing({.p = 1, .scale = {0.2, 0.3}, .random_value = true}), images);
  const at::Tensor numbers = drawn.masked_select(drawn.ne(50));
  const auto count = static_cast<double>(numbers.numel());
  CHECK(count > 200 * 256 * 0.15);
  CHECK(std::abs(numbers.mean().item<double>()) < 5 / std::sqrt(count));
  CHECK(numbers.var().item<double>() == Approx(1).margin(5 * std::sqrt(2 / count)));
}

TEST_CASE("RandomErasing depends on each sample's random numbers alone") {
  CHECK(depends_on_sample_alone(RandomErasing(), test_images({20, 3, 12, 10})));
  CHECK(depends_on_sample_alone(RandomErasing({.random_value = true}), float_images({20, 1, 12, 10})));
}

TEST_CASE("RandomErasing names bad options and images") {
  const auto error = [](auto make) { return error_text<levin::UsageError>(make); };
  CHECK(error([] { RandomErasing({.scale = {0.5, 0.1}}); }) == "RandomErasing.scale: 0.5 is more than 0.1");
  CHECK(error([] { RandomErasing({.ratio = 1}); }) == "RandomErasing.ratio: expected [low, high], got 1 numbers");
  CHECK(error_text([] { applied(RandomErasing({.random_value = true}), test_images({1, 1, 4, 4})); }) ==
        "RandomErasing: random_value needs floating-point images, got uint8 [1, 1, 4, 4]; put ConvertImage before it");
  CHECK(error_text([] { applied(RandomErasing({.value = -1}), test_images({1, 1, 4, 4})); }) ==
        "RandomErasing.value: -1 is no value of uint8 images");
}
