#include <levin/data/transforms/random_flip.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

TEST_CASE("flips exchange left and right, or top and bottom, of all types of pixels") {
  const at::Tensor bytes = test_images({2, 3, 5, 4});
  for (const at::ScalarType type : {at::kByte, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const at::Tensor images = bytes.to(type);
    CHECK(at::equal(applied(RandomHorizontalFlip({.p = 1}), images), images.flip({3})));
    CHECK(at::equal(applied(RandomVerticalFlip({.p = 1}), images), images.flip({2})));
    CHECK(at::equal(applied(RandomHorizontalFlip({.p = 0}), images), images));
    CHECK(at::equal(applied(RandomVerticalFlip({.p = 0}), images), images));
  }
}

TEST_CASE("images need not be contiguous") {
  const at::Tensor images = test_images({3, 6, 5, 2}).permute({0, 3, 1, 2});
  CHECK(at::equal(applied(RandomHorizontalFlip({.p = 1}), images), images.flip({3})));
  levin::Batch batch(images);
  std::vector<Rng> rngs = rngs_of({0, 1, 2});
  RandomVerticalFlip({.p = 1})(batch, rngs);
  CHECK(at::equal(batch.input(), test_images({3, 6, 5, 2}).permute({0, 3, 1, 2}).flip({2})));
}

TEST_CASE("the flipped part of 2,000 samples is p within 5 sigma") {
  const at::Tensor images = test_images({1, 1, 2, 2}).expand({2000, 1, 2, 2});
  for (const double p : {0.5, 0.1, 0.9}) {
    const double most = 5 * std::sqrt(2000 * p * (1 - p));
    const at::Tensor flipped = applied(RandomHorizontalFlip({.p = p}), images).ne(images).flatten(1).any(1);
    CHECK(std::abs(static_cast<double>(flipped.sum().item<int64_t>()) - 2000 * p) < most);
    const at::Tensor turned = applied(RandomVerticalFlip({.p = p}), images).ne(images).flatten(1).any(1);
    CHECK(std::abs(static_cast<double>(turned.sum().item<int64_t>()) - 2000 * p) < most);
  }
}

TEST_CASE("flips depend on each sample's random numbers alone") {
  CHECK(depends_on_sample_alone(RandomHorizontalFlip(), test_images({20, 1, 4, 4})));
  CHECK(depends_on_sample_alone(RandomVerticalFlip(), float_images({20, 3, 4, 4})));
}

TEST_CASE("flips refuse a probability that is none, and other tensors") {
  CHECK(error_text<levin::UsageError>([] { RandomHorizontalFlip({.p = 1.5}); }) ==
        "RandomHorizontalFlip.p: expected at least 0 and at most 1, got 1.5");
  CHECK(error_text<levin::UsageError>([] { RandomVerticalFlip({.p = -1}); }) ==
        "RandomVerticalFlip.p: expected at least 0 and at most 1, got -1.0");
  CHECK(error_text([] {
          applied(RandomVerticalFlip(), test_images({4, 4}));
        }).starts_with("RandomVerticalFlip: needs `input` as images"));
}
