#include <levin/data/transforms/color_jitter.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

namespace {

/// One image of these pixels, each red, green and blue.
at::Tensor image_of(const std::vector<std::array<double, 3>>& pixels, at::ScalarType type) {
  std::vector<double> planes;
  for (size_t c = 0; c < 3; ++c)
    for (const auto& pixel : pixels) planes.push_back(pixel[c]);
  return at::tensor(planes).view({1, 3, 1, static_cast<int64_t>(pixels.size())}).to(type);
}

std::vector<double> values(const at::Tensor& image, int64_t pixel) {
  const at::Tensor channels = image[0].select(1, 0).select(1, pixel).to(at::kDouble).contiguous();
  return {channels.const_data_ptr<double>(), channels.const_data_ptr<double>() + 3};
}

}  // namespace

TEST_CASE("brightness multiplies and stays inside of the range") {
  const at::Tensor bytes = image_of({{10, 101, 200}}, at::kByte);
  CHECK(values(applied(ColorJitter({.brightness = {0.5, 0.5}}), bytes), 0) == std::vector<double>{5, 50, 100});
  CHECK(values(applied(ColorJitter({.brightness = {2, 2}}), bytes), 0) == std::vector<double>{20, 202, 255});
  const at::Tensor numbers = image_of({{0.1, 0.4, 0.8}}, at::kDouble);
  const at::Tensor twice = applied(ColorJitter({.brightness = {2, 2}}), numbers);
  CHECK(values(twice, 0)[1] == Approx(0.8));
  CHECK(values(twice, 0)[2] == 1);
}

TEST_CASE("contrast mixes with the mean of the grays, saturation with each pixel's own gray") {
  // Grays, cut off: 0.2989 * 100 + 0.587 * 50 + 0.114 * 200 = 82.04 and 0.2989 * 20 + 0.587 * 40 + 0.114 * 60 = 36.298.
  const at::Tensor bytes = image_of({{100, 50, 200}, {20, 40, 60}}, at::kByte);
  const at::Tensor contrast = applied(ColorJitter({.contrast = {0.5, 0.5}}), bytes);
  CHECK(values(contrast, 0) == std::vector<double>{79, 54, 129});  // half of the value and half of 59
  CHECK(values(contrast, 1) == std::vector<double>{39, 49, 59});
  const at::Tensor saturation = applied(ColorJitter({.saturation = {0.5, 0.5}}), bytes);
  CHECK(values(saturation, 0) == std::vector<double>{91, 66, 141});
  CHECK(values(saturation, 1) == std::vector<double>{28, 38, 48});
  CHECK(values(applied(ColorJitter({.saturation = {0, 0}}), bytes), 0) == std::vector<double>{82, 82, 82});
}

TEST_CASE("hue turns the colour circle") {
  const at::Tensor colors = image_of({{255, 0, 0}, {0, 255, 0}, {10, 20, 200}, {77, 77, 77}}, at::kByte);
  const at::Tensor third = applied(ColorJitter({.hue = {1.0 / 3, 1.0 / 3}}), colors);
  CHECK(values(third, 0) == std::vector<double>{0, 255, 0});
  CHECK(values(third, 1) == std::vector<double>{0, 0, 255});
  const std::vector<double> turned = values(third, 2);  // blue becomes red, red green, green blue
  CHECK(turned[0] == Approx(200).margin(1));
  CHECK(turned[1] == Approx(10).margin(1));
  CHECK(turned[2] == Approx(20).margin(1));
  CHECK(values(third, 3) == std::vector<double>{77, 77, 77});
  const at::Tensor half = applied(ColorJitter({.hue = {-0.5, -0.5}}), colors);
  CHECK(values(half, 0) == std::vector<double>{0, 255, 255});
}

TEST_CASE("gray images keep saturation and hue, and change in brightness and contrast") {
  const at::Tensor gray = test_images({5, 1, 4, 4});
  CHECK(at::equal(applied(ColorJitter({.saturation = 0.9, .hue = 0.5}), gray), gray));
  CHECK_FALSE(at::equal(applied(ColorJitter({.brightness = 0.9}), gray), gray));
  CHECK_FALSE(at::equal(applied(ColorJitter({.contrast = 0.9}), gray), gray));
  CHECK(at::equal(applied(ColorJitter(), gray), gray));
}

TEST_CASE("one number is a range around 1 that does not go below 0") {
  const at::Tensor images = image_of({{0.25, 0.25, 0.25}}, at::kFloat).expand({1000, 3, 1, 1});
  const at::Tensor factors = applied(ColorJitter({.brightness = 0.4}), images).select(1, 0) / 0.25;
  CHECK(factors.min().item<double>() == Approx(0.6).margin(0.01));
  CHECK(factors.max().item<double>() == Approx(1.4).margin(0.01));
  CHECK(std::abs(factors.mean().item<double>() - 1) < 5 * 0.8 / std::sqrt(12.0 * 1000));
  const at::Tensor wide = applied(ColorJitter({.brightness = 2}), images).select(1, 0) / 0.25;
  CHECK(wide.min().item<double>() >= 0);
  CHECK(wide.max().item<double>() == Approx(3).margin(0.02));
}

TEST_CASE("the order of the changes is drawn for each image") {
  const at::Tensor images = image_of({{0.9, 0.1, 0.5}, {0.2, 0.3, 0.8}}, at::kFloat).expand({200, 3, 1, 2});
  const ColorJitter jitter({.brightness = {1.8, 1.8}, .contrast = {0.3, 0.3}, .saturation = {2, 2}, .hue = {0.2, 0.2}});
  const at::Tensor out = applied(jitter, images);
  std::set<float> results;
  for (int64_t i = 0; i < 200; ++i) results.insert(out[i][0][0][0].item<float>());
  CHECK(results.size() > 6);
  CHECK(results.size() <= 24);
}

TEST_CASE("ColorJitter depends on each sample's random numbers alone") {
  const ColorJitter jitter({.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1});
  CHECK(depends_on_sample_alone(jitter, test_images({8, 3, 5, 6})));
  CHECK(depends_on_sample_alone(jitter, float_images({8, 3, 5, 6})));
}

TEST_CASE("ColorJitter names bad options and images") {
  const auto error = [](auto make) { return error_text<levin::UsageError>(make); };
  CHECK(error([] { ColorJitter({.brightness = -0.1}); }) == "ColorJitter.brightness: expected at least 0, got -0.1");
  CHECK(error([] { ColorJitter({.contrast = {2, 1}}); }) == "ColorJitter.contrast: 2 is more than 1");
  CHECK(error([] { ColorJitter({.hue = 0.6}); }) == "ColorJitter.hue: expected at least -0.5 and at most 0.5, got 0.6");
  CHECK(error([] { ColorJitter({.hue = -0.1}); }) ==
        "ColorJitter.hue: expected at least 0 for a single number, got -0.1");
  CHECK(error_text([] { applied(ColorJitter({.hue = 0.1}), test_images({1, 2, 4, 4})); }) ==
        "ColorJitter: needs 1 or 3 channels, got uint8 [1, 2, 4, 4]");
}
