#include <levin/data/datasets/synthetic_digits.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/stack.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/digit_glyphs.h>

#include "tests/catch.h"

using levin::Stage;
using namespace levin::data;

TEST_CASE("each digit depends on seed, split and index alone") {
  const DrawnDigits few = draw_digits(10, 3, 0), many = draw_digits(200, 3, 0);
  CHECK(at::equal(few.images, many.images.narrow(0, 0, 10)));
  CHECK(at::equal(few.labels, many.labels.narrow(0, 0, 10)));
  CHECK_FALSE(at::equal(few.images, draw_digits(10, 4, 0).images));
  CHECK_FALSE(at::equal(few.images, draw_digits(10, 3, 1).images));
}

TEST_CASE("all ten digits occur, with ink in the middle and a dark border") {
  const DrawnDigits digits = draw_digits(1000, 0, 0);
  const at::Tensor counts = digits.labels.to(at::kLong).bincount();
  CHECK(counts.numel() == 10);
  CHECK(counts.min().item<int64_t>() > 60);
  const at::Tensor images = digits.images.to(at::kFloat);
  CHECK(images.narrow(1, 7, 14).narrow(2, 7, 14).mean().item<double>() > 50);
  CHECK(images.select(1, 0).mean().item<double>() < 15);
  CHECK(images.amax({1, 2}).min().item<double>() > 128);
}

TEST_CASE("the digits can be told apart, but not by their mean images") {
  const DrawnDigits train = draw_digits(2000, 0, 0), val = draw_digits(500, 0, 1);
  const at::Tensor pixels = train.images.to(at::kFloat).flatten(1);
  std::vector<at::Tensor> means;
  for (int64_t digit = 0; digit < 10; ++digit) {
    means.push_back(pixels.index_select(0, train.labels.eq(digit).nonzero().squeeze(1)).mean(0));
  }
  const at::Tensor nearest = at::cdist(val.images.to(at::kFloat).flatten(1), at::stack(means)).argmin(1);
  const double accuracy = nearest.eq(val.labels).to(at::kFloat).mean().item<double>();
  CHECK(accuracy > 0.5);
  CHECK(accuracy < 0.9);
}

TEST_CASE("SyntheticDigits is a data module like MNIST") {
  SyntheticDigits data({.train_size = 100, .val_size = 20, .test_size = 10, .batch_size = 32});
  CHECK_THROWS_AS(data.train_dataloader(), levin::UsageError);
  data.setup(Stage::Fit);
  data.setup(Stage::Test);
  CHECK(data.train_dataloader()[0].size() == 4);
  CHECK(data.val_dataloader()[0].size() == 1);
  const auto loaded = data.test_dataloader()[0].next();
  CHECK(loaded->samples == 10);
  CHECK(loaded->batch.input().sizes() == at::IntArrayRef({10, 1, 28, 28}));
  CHECK(loaded->batch.target().scalar_type() == at::kLong);
  CHECK_THROWS_AS(SyntheticDigits({.train_size = 0}), levin::UsageError);
}
