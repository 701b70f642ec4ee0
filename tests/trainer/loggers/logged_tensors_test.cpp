#include <levin/trainer/loggers/logged_tensors.h>

#include <torch/types.h>

#include <cmath>
#include <limits>

#include "tests/catch.h"

using namespace levin;

TEST_CASE("images become bytes: floating-point values are clamped, NaN is black") {
  const double infinity = std::numeric_limits<double>::infinity();
  const torch::Tensor bytes =
      image_bytes("x", torch::tensor({0.0, 0.5, 1.0, 2.0, -1.0, std::nan(""), infinity, -infinity}).view({2, 4}));
  CHECK(bytes.sizes() == torch::IntArrayRef{1, 2, 4});
  CHECK(bytes.scalar_type() == torch::kByte);
  CHECK(torch::equal(bytes.flatten(), torch::tensor({0, 127, 255, 255, 0, 0, 255, 0}, torch::kByte)));
  const torch::Tensor colors = torch::arange(12, torch::kByte).view({2, 2, 3}).permute({2, 0, 1});
  CHECK(torch::equal(image_bytes("x", colors), colors));
  CHECK(image_bytes("x", colors).is_contiguous());
  CHECK(torch::equal(image_bytes("x", torch::ones({1, 1}, torch::kBool)), torch::full({1, 1, 1}, 255, torch::kByte)));
  CHECK(torch::equal(image_bytes("x", torch::ones({1, 1}, torch::kHalf)), torch::full({1, 1, 1}, 255, torch::kByte)));
}

TEST_CASE("a histogram counts each finite element in the bucket that holds it") {
  torch::manual_seed(3);
  const torch::Tensor values = torch::cat({torch::randn({1000}, torch::kDouble) * 3, torch::zeros({10}, torch::kDouble),
                                           torch::tensor({1e30, -1e30, std::nan("")}, torch::kDouble)});
  const Histogram histogram = histogram_of(values);
  CHECK(histogram.count() == 1012);
  CHECK(histogram.min == -1e30);
  CHECK(histogram.max == 1e30);
  REQUIRE(histogram.limits.size() == histogram.counts.size());
  double below = 0;
  for (size_t i = 0; i < histogram.limits.size(); ++i) {
    below += histogram.counts[i];
    if (i + 1 < histogram.limits.size()) REQUIRE(values.lt(histogram.limits[i]).sum().item<double>() == below);
  }
  CHECK(below == 1012);
}

TEST_CASE("histograms of few, equal and other elements") {
  CHECK(histogram_of(torch::tensor({std::nan("")})).limits.empty());
  CHECK(histogram_of(torch::empty({0})).limits.empty());
  const Histogram zeros = histogram_of(torch::zeros({4}));
  CHECK(zeros.count() == 4);
  CHECK(zeros.min == 0);
  CHECK(zeros.counts.back() == 4);
  CHECK(histogram_of(torch::ones({3}, torch::kBool)).sum == 3);
  CHECK(histogram_of(torch::full({3}, 7, torch::kLong)).sum_of_squares == 147);
  CHECK(histogram_of(torch::full({2}, std::numeric_limits<double>::max(), torch::kDouble)).count() == 2);
}
