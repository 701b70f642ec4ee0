#include <levin/data/transforms/random_resized_crop.h>
#include <levin/data/transforms/engine/random_box.h>
#include <levin/data/transforms/resize.h>

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

TEST_CASE("random boxes have areas and ratios inside of the bounds and lie in the image") {
  const BoxShape shape = {.scale = {0.1, 0.5}, .ratio = {0.5, 2}};
  double least_area = 1, most_area = 0, least_ratio = 9, most_ratio = 0, mean_log_ratio = 0;
  constexpr int kCount = 2000;
  for (int i = 0; i < kCount; ++i) {
    Rng rng(3, 0, i);
    const auto box = random_box(rng, 400, 500, shape);
    REQUIRE(box);
    REQUIRE((box->top >= 0 && box->left >= 0 && box->top + box->height <= 400 && box->left + box->width <= 500));
    const double area = static_cast<double>(box->height * box->width) / (400.0 * 500.0);
    const double ratio = static_cast<double>(box->width) / static_cast<double>(box->height);
    least_area = std::min(least_area, area);
    most_area = std::max(most_area, area);
    least_ratio = std::min(least_ratio, ratio);
    most_ratio = std::max(most_ratio, ratio);
    mean_log_ratio += std::log(ratio) / kCount;
  }
  CHECK(least_area == Approx(0.1).epsilon(0.05));
  CHECK(most_area == Approx(0.5).epsilon(0.05));
  CHECK(least_ratio == Approx(0.5).epsilon(0.05));
  CHECK(most_ratio == Approx(2).epsilon(0.05));
  // Even on the logarithmic scale: a standard deviation of log(4) / sqrt(12), so 5 sigma of the mean are 0.045.
  CHECK(std::abs(mean_log_ratio) < 0.045);
}

TEST_CASE("a random box may not exist, and can be required to be smaller than the image") {
  Rng rng(3, 0, 0);
  CHECK_FALSE(random_box(rng, 2, 200, {.scale = {0.9, 1}, .ratio = {1, 1}}));
  CHECK(random_box(rng, 8, 8, {.scale = {1, 1}, .ratio = {1, 1}}));
  CHECK_FALSE(random_box(rng, 8, 8, {.scale = {1, 1}, .ratio = {1, 1}, .whole_sides = false}));
}

TEST_CASE("the whole image as a window is the resized image") {
  for (const at::Tensor& images : {test_images({3, 3, 12, 12}), float_images({3, 1, 12, 12})}) {
    const RandomResizedCrop crop({.size = 5, .scale = {1, 1}, .ratio = {1, 1}});
    CHECK(at::equal(applied(crop, images), applied(Resize({.size = 5}), images)));
    const RandomResizedCrop same({.size = 12, .scale = {1, 1}, .ratio = {1, 1}});
    CHECK(at::equal(applied(same, images), images));
  }
}

TEST_CASE("if no window fits, the largest in the middle is taken") {
  const at::Tensor images = float_images({2, 1, 3, 20});
  const RandomResizedCrop wide({.size = {3, 6}, .scale = {1, 1}, .ratio = {2, 2}, .interpolation = "nearest"});
  CHECK(at::equal(applied(wide, images), images.narrow(3, 7, 6)));
  const RandomResizedCrop high({.size = {6, 3}, .scale = {1, 1}, .ratio = {0.5, 0.5}, .interpolation = "nearest"});
  CHECK(at::equal(applied(high, images.transpose(2, 3)), images.transpose(2, 3).narrow(2, 7, 6)));
}

TEST_CASE("RandomResizedCrop depends on each sample's random numbers alone") {
  const RandomResizedCrop crop({.size = {7, 6}});
  CHECK(applied(crop, test_images({8, 3, 16, 12})).sizes() == at::IntArrayRef({8, 3, 7, 6}));
  CHECK(depends_on_sample_alone(crop, test_images({8, 3, 16, 12})));
  CHECK(depends_on_sample_alone(crop, float_images({8, 1, 16, 12})));
}

TEST_CASE("RandomResizedCrop names bad options") {
  CHECK(error_text<levin::UsageError>([] { RandomResizedCrop({}); }) ==
        "RandomResizedCrop.size: expected a number or [height, width], got 0 numbers");
  CHECK(error_text<levin::UsageError>([] { RandomResizedCrop({.size = 3, .scale = {0.5, 0.2}}); }) ==
        "RandomResizedCrop.scale: 0.5 is more than 0.2");
  CHECK(error_text<levin::UsageError>([] { RandomResizedCrop({.size = 3, .ratio = {0, 2}}); }) ==
        "RandomResizedCrop.ratio[0]: expected more than 0, got 0.0");
}
