#include <levin/data/transforms/normalize.h>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

TEST_CASE("each channel is normalised by its own numbers, or all by one") {
  const at::Tensor images = float_images({4, 3, 5, 6});
  const at::Tensor out = applied(Normalize({.mean = {0.1, 0.2, 0.3}, .std = {0.5, 0.25, 2}}), images);
  CHECK(at::equal(out.select(1, 0), (images.select(1, 0) - 0.1F) / 0.5F));
  CHECK(at::equal(out.select(1, 1), (images.select(1, 1) - 0.2F) / 0.25F));
  CHECK(at::equal(out.select(1, 2), (images.select(1, 2) - 0.3F) / 2.0F));
  CHECK(at::equal(applied(Normalize({.mean = 0.5, .std = 0.5}), images), (images - 0.5F) / 0.5F));
}

TEST_CASE("Normalize names what does not fit") {
  const Normalize normalize({.mean = {0.1, 0.2}, .std = 1});
  CHECK(error_text([&] { applied(normalize, test_images({1, 2, 2, 2})); }) ==
        "Normalize: needs floating-point images, got uint8 [1, 2, 2, 2]; put ConvertImage before it");
  CHECK(error_text([&] { applied(normalize, float_images({1, 3, 2, 2})); }) ==
        "Normalize.mean: 2 values for images of 3 channels");
  CHECK(error_text<levin::UsageError>([] { Normalize({.mean = 0.5}); }) ==
        "Normalize.std: missing; give one number for each channel");
  CHECK(error_text<levin::UsageError>([] { Normalize({.std = 0.5}); }) ==
        "Normalize.mean: missing; give one number for each channel");
  CHECK(error_text<levin::UsageError>([] { Normalize({.mean = 0, .std = {1, 0}}); }) ==
        "Normalize.std[1]: expected more than 0, got 0.0");
}
