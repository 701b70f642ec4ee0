#include <levin/data/transforms/crop.h>
#include <ATen/ops/full.h>

#include <set>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

namespace {

/// A border by index arithmetic on one line of `size` pixels, written out.
at::Tensor padded_columns(const at::Tensor& images, const std::vector<int64_t>& columns) {
  std::vector<at::Tensor> lines;
  for (const int64_t column : columns)
    lines.push_back(column < 0 ? at::full_like(images.select(3, 0), 9) : images.select(3, column));
  return at::stack(lines, 3);
}

}  // namespace

TEST_CASE("CenterCrop takes the middle; halves go to the even pixel") {
  const at::Tensor images = test_images({2, 3, 7, 10});
  CHECK(at::equal(applied(CenterCrop({.size = {3, 4}}), images), images.narrow(2, 2, 3).narrow(3, 3, 4)));
  // (7 - 4) / 2 = 1.5 and (10 - 5) / 2 = 2.5 are both 2, (7 - 6) / 2 = 0.5 is 0.
  CHECK(at::equal(applied(CenterCrop({.size = {4, 5}}), images), images.narrow(2, 2, 4).narrow(3, 2, 5)));
  CHECK(at::equal(applied(CenterCrop({.size = {6, 10}}), images), images.narrow(2, 0, 6)));
}

TEST_CASE("CenterCrop puts a border of zeros around smaller images, the odd line below and to the right") {
  const at::Tensor images = test_images({2, 1, 2, 5});
  const at::Tensor out = applied(CenterCrop({.size = {5, 3}}), images);
  REQUIRE(out.sizes() == at::IntArrayRef({2, 1, 5, 3}));
  CHECK(at::equal(out.narrow(2, 1, 2), images.narrow(3, 1, 3)));
  CHECK(out.narrow(2, 0, 1).sum().item<int64_t>() == 0);
  CHECK(out.narrow(2, 3, 2).sum().item<int64_t>() == 0);
}

TEST_CASE("RandomCrop's borders show what the padding mode says") {
  const at::Tensor images = test_images({3, 2, 1, 4});
  const auto crop = [&](const char* mode, int64_t border) {
    // The window is as large as the padded image, so there is no chance in it.
    return applied(RandomCrop({.size = {1, 4 + 2 * border}, .padding = {border, 0}, .fill = 9, .padding_mode = mode}),
                   images);
  };
  CHECK(at::equal(crop("constant", 2), padded_columns(images, {-1, -1, 0, 1, 2, 3, -1, -1})));
  CHECK(at::equal(crop("edge", 2), padded_columns(images, {0, 0, 0, 1, 2, 3, 3, 3})));
  CHECK(at::equal(crop("reflect", 3), padded_columns(images, {3, 2, 1, 0, 1, 2, 3, 2, 1, 0})));
  CHECK(at::equal(crop("symmetric", 3), padded_columns(images, {2, 1, 0, 0, 1, 2, 3, 3, 2, 1})));
  // Borders wider than the image go back and forth.
  CHECK(at::equal(crop("reflect", 5), padded_columns(images, {1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2})));
  CHECK(at::equal(crop("symmetric", 5), padded_columns(images, {3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0})));
}

TEST_CASE("each of the four borders has its width, and each channel its fill value") {
  const at::Tensor images = float_images({2, 2, 3, 3});
  const RandomCrop crop({.size = {3 + 2 + 4, 3 + 1 + 3}, .padding = {1, 2, 3, 4}, .fill = {0.25, 0.5}});
  const at::Tensor out = applied(crop, images);
  CHECK(at::equal(out.narrow(2, 2, 3).narrow(3, 1, 3), images));
  at::Tensor border = out.clone();
  border.narrow(2, 2, 3).narrow(3, 1, 3).zero_();
  CHECK(border.select(1, 0).sum().item<double>() == 2 * (63 - 9) * 0.25);
  CHECK(border.select(1, 1).sum().item<double>() == 2 * (63 - 9) * 0.5);
}

TEST_CASE("every place of a window comes, and each window is one of the image") {
  // Pixel values are their place.
  const at::Tensor image = at::arange(30, at::TensorOptions(at::kByte)).view({1, 1, 5, 6});
  const at::Tensor out = applied(RandomCrop({.size = {3, 4}}), image.expand({400, 1, 5, 6}));
  REQUIRE(out.sizes() == at::IntArrayRef({400, 1, 3, 4}));
  std::set<std::pair<int64_t, int64_t>> places;
  for (int64_t i = 0; i < 400; ++i) {
    const auto place = out[i][0][0][0].item<int64_t>();
    places.emplace(place / 6, place % 6);
    CHECK(at::equal(out[i], image[0].narrow(1, place / 6, 3).narrow(2, place % 6, 4)));
  }
  CHECK(places.size() == 9);
}

TEST_CASE("RandomCrop depends on each sample's random numbers alone") {
  CHECK(depends_on_sample_alone(RandomCrop({.size = 6, .padding = 2}), test_images({8, 3, 8, 8})));
  CHECK(depends_on_sample_alone(RandomCrop({.size = {9, 4}, .pad_if_needed = true}), float_images({8, 1, 8, 8})));
}

TEST_CASE("small images are refused, or get a border of what is missing on both sides") {
  CHECK(error_text([] { applied(RandomCrop({.size = {4, 9}, .padding = 1}), test_images({2, 1, 6, 6})); }) ==
        "RandomCrop: a window of 4 x 9 pixels is larger than the images with padding, 8 x 8; set padding or "
        "pad_if_needed");
  const at::Tensor image = at::full({300, 1, 2, 2}, 1.0);
  const at::Tensor out = applied(RandomCrop({.size = {2, 5}, .pad_if_needed = true}), image);
  CHECK(out.sizes() == at::IntArrayRef({300, 1, 2, 5}));
  // A window of 5 of the 2 + 3 + 3 columns starts at 0 to 3, and always holds both columns of the image.
  CHECK(out.sum({1, 2, 3}).eq(4).all().item<bool>());
  std::set<int64_t> begins;
  for (int64_t i = 0; i < 300; ++i) begins.insert(out[i][0][0].nonzero()[0].item<int64_t>());
  CHECK(begins == std::set<int64_t>{0, 1, 2, 3});
}

TEST_CASE("RandomCrop names bad options and values") {
  CHECK(error_text<levin::UsageError>([] { RandomCrop({}); }) ==
        "RandomCrop.size: expected a number or [height, width], got 0 numbers");
  CHECK(error_text<levin::UsageError>([] { RandomCrop({.size = 2, .padding = {1, 2, 3}}); }) ==
        "RandomCrop.padding: expected 1, 2 or 4 numbers, got 3");
  CHECK(error_text<levin::UsageError>([] { RandomCrop({.size = 2, .padding_mode = "mirror"}); }) ==
        "RandomCrop.padding_mode: expected one of constant, edge, reflect, symmetric, got \"mirror\"");
  CHECK(error_text([] { applied(RandomCrop({.size = 2, .fill = 256}), test_images({1, 1, 2, 2})); }) ==
        "RandomCrop.fill: 256 is no value of uint8 images");
  CHECK(error_text([] { applied(RandomCrop({.size = 2, .fill = {1, 2}}), test_images({1, 3, 2, 2})); }) ==
        "RandomCrop.fill: 2 values for images of 3 channels");
  levin::Batch batch(test_images({3, 1, 4, 4}));
  std::vector<Rng> rngs = rngs_of({0, 1});
  CHECK(error_text([&] { RandomCrop({.size = 2})(batch, rngs); }) ==
        "RandomCrop: 3 samples, but 2 random number generators");
}
