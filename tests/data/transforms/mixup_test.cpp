#include <levin/data/transforms/mixup.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/eye.h>
#include <levin/data/transforms/one_hot.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using levin::Batch;
using namespace levin::data;

namespace {

Batch mix(const Transform& transform, const at::Tensor& input, const at::Tensor& target, int64_t first_index = 0) {
  Batch batch(input.clone(), target.clone());
  std::vector<int64_t> indices = first_indices(input.size(0));
  indices[0] = first_index;
  std::vector<Rng> rngs = rngs_of(indices);
  transform(batch, rngs);
  return batch;
}

at::Tensor classes(int64_t count) { return at::arange(count, at::TensorOptions(at::kLong)); }

}  // namespace

TEST_CASE("mixup mixes each sample and its target with the one before it, by one share") {
  const at::Tensor input = float_images({4, 3, 5, 5});
  const Batch out = mix(Mixup({.num_classes = 4}), input, classes(4));
  REQUIRE(out.target().sizes() == at::IntArrayRef({4, 4}));
  const double share = out.target()[0][0].item<double>();
  CHECK((share > 0 && share < 1));
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t before = (i + 3) % 4;
    CHECK(at::allclose(out.input()[i], input[i] * share + input[before] * (1 - share), 1e-5, 1e-6));
    CHECK(at::allclose(out.target()[i], at::eye(4)[i] * share + at::eye(4)[before] * (1 - share), 1e-5, 1e-6));
  }
}

TEST_CASE("the share of mixup is beta distributed") {
  // Beta(alpha, alpha) has the mean 1/2 and the variance 1 / (4 (2 alpha + 1)).
  for (const double alpha : {0.2, 1.0, 4.0}) {
    const at::Tensor input = float_images({2, 1});
    double sum = 0, square = 0;
    constexpr int kCount = 2000;
    for (int64_t i = 0; i < kCount; ++i) {
      const double share =
          mix(Mixup({.alpha = alpha, .num_classes = 2}), input, classes(2), i + 2).target()[0][0].item<double>();
      REQUIRE((share >= 0 && share <= 1));
      sum += share;
      square += (share - 0.5) * (share - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    CHECK(std::abs(sum / kCount - 0.5) < 5 * std::sqrt(variance / kCount));
    CHECK(square / kCount == Approx(variance).epsilon(0.15));
  }
  // So small that both gamma numbers are zero.
  const double share =
      mix(Mixup({.alpha = 1e-5, .num_classes = 2}), float_images({2, 1}), classes(2)).target()[0][0].item<double>();
  CHECK((share == 0 || share == 1));
}

TEST_CASE("CutMix pastes a rectangle and mixes targets by the areas") {
  for (int64_t seed = 10; seed < 40; ++seed) {
    // Each image has one value, its number.
    const at::Tensor input = at::arange(4, at::TensorOptions(at::kByte)).view({4, 1, 1, 1}).expand({4, 2, 8, 10});
    const Batch out = mix(CutMix({.num_classes = 4}), input, classes(4), seed);
    CHECK(out.input().scalar_type() == at::kByte);
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t before = (i + 3) % 4;
      const at::Tensor pasted = out.input()[i][0].eq(before);
      CHECK((pasted + out.input()[i][0].eq(i)).all().item<bool>());
      CHECK(at::equal(out.input()[i][0], out.input()[i][1]));
      const at::Tensor places = pasted.nonzero();
      const double part = static_cast<double>(places.size(0)) / 80;
      CHECK(out.target()[i][before].item<double>() == Approx(part).margin(1e-6));
      CHECK(out.target()[i][i].item<double>() == Approx(1 - part));
      if (places.size(0) == 0) continue;
      const at::Tensor sides = std::get<0>(places.max(0)) - std::get<0>(places.min(0)) + 1;
      CHECK(sides[0].item<int64_t>() * sides[1].item<int64_t>() == places.size(0));
    }
  }
}

TEST_CASE("the area that CutMix pastes is at most the share's rest, and both ends come") {
  const at::Tensor input = test_images({2, 1, 16, 16});
  double least = 1, most = 0;
  for (int64_t i = 2; i < 400; ++i) {
    const double pasted = mix(CutMix({.num_classes = 2}), input, classes(2), i).target()[0][1].item<double>();
    least = std::min(least, pasted);
    most = std::max(most, pasted);
  }
  CHECK(least == 0);
  CHECK(most > 0.7);
}

TEST_CASE("targets may be one-hot already, and a mixture can be mixed again") {
  const at::Tensor input = float_images({3, 1, 4, 4});
  const Batch numbers = mix(Mixup({.num_classes = 3}), input, classes(3));
  const Batch rows = mix(Mixup(), input, one_hot(classes(3), 3, "test"));
  CHECK(at::equal(numbers.target(), rows.target()));
  const Batch twice = mix(CutMix({.num_classes = 3}), numbers.input(), numbers.target());
  CHECK(at::allclose(twice.target().sum(1), at::arange(1, 2, at::TensorOptions(at::kFloat)).expand({3}), 1e-5, 1e-6));
}

TEST_CASE("Mixup and CutMix name what does not fit") {
  const at::Tensor images = test_images({2, 1, 4, 4});
  CHECK(error_text([&] { mix(Mixup({.num_classes = 2}), images, classes(2)); }) ==
        "Mixup: needs floating-point `input`, got uint8 [2, 1, 4, 4]; put ConvertImage before it");
  CHECK(error_text([&] { mix(CutMix(), images, classes(2)); }) ==
        "CutMix: without num_classes it needs one-hot targets, floating point [samples, classes], got int64 [2]");
  CHECK(error_text([&] { mix(CutMix({.num_classes = 2}), images, classes(2) + 1); }) ==
        "CutMix: the target 2 is none of 2 classes, 0 to 1");
  CHECK(error_text<levin::UsageError>([] { Mixup({.alpha = 0}); }) == "Mixup.alpha: expected more than 0, got 0.0");
}
