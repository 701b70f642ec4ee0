#include <levin/data/transforms/resize.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

namespace {

/// One output line of a linear resize: a triangle around each output pixel's centre, as wide as the step between output
/// pixels if `antialias` is set and the line becomes shorter, cut off at the ends and divided by its sum.
std::vector<std::vector<double>> line_weights(int64_t from, int64_t to, bool antialias) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double half = antialias ? std::max(1.0, step) : 1.0;
  std::vector<std::vector<double>> weights;
  for (int64_t i = 0; i < to; ++i) {
    // Without antialias, the outermost pixels are repeated outside.
    double center = (static_cast<double>(i) + 0.5) * step - 0.5;
    if (!antialias) center = std::clamp(center, 0.0, static_cast<double>(from - 1));
    std::vector<double> line(static_cast<size_t>(from));
    double sum = 0;
    for (int64_t j = 0; j < from; ++j) {
      line[static_cast<size_t>(j)] = std::max(0.0, 1 - std::abs(static_cast<double>(j) - center) / half);
      sum += line[static_cast<size_t>(j)];
    }
    for (double& weight : line) weight /= sum;
    weights.push_back(line);
  }
  return weights;
}

at::Tensor expected_of(const at::Tensor& images, int64_t height, int64_t width, bool antialias) {
  const at::Tensor from = images.to(at::kDouble).contiguous();
  const auto pixel = from.accessor<double, 4>();
  const auto rows = line_weights(images.size(2), height, antialias);
  const auto columns = line_weights(images.size(3), width, antialias);
  at::Tensor out = at::empty({images.size(0), images.size(1), height, width}, from.options());
  auto to = out.accessor<double, 4>();
  for (int64_t n = 0; n < images.size(0); ++n)
    for (int64_t c = 0; c < images.size(1); ++c)
      for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x) {
          double sum = 0;
          for (int64_t i = 0; i < images.size(2); ++i)
            for (int64_t j = 0; j < images.size(3); ++j)
              sum += rows[static_cast<size_t>(y)][static_cast<size_t>(i)] *
                     columns[static_cast<size_t>(x)][static_cast<size_t>(j)] * pixel[n][c][i][j];
          to[n][c][y][x] = sum;
        }
  return out;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace

TEST_CASE("linear resizing weighs pixels by a triangle") {
  const at::Tensor bytes = test_images({3, 3, 11, 13});
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{5, 6}, {22, 17}, {4, 30}, {11, 7}};
  for (const auto& [height, width] : sizes) {
    for (const bool antialias : {true, false}) {
      const Resize resize({.size = {height, width}, .antialias = antialias});
      const at::Tensor expected = expected_of(bytes, height, width, antialias);
      CHECK(largest_difference(applied(resize, bytes.to(at::kFloat)), expected) < 1e-3);
      const at::Tensor of_bytes = applied(resize, bytes);
      CHECK(of_bytes.scalar_type() == at::kByte);
      CHECK(largest_difference(of_bytes, expected) <= 1.01);
      CHECK(largest_difference(applied(resize, bytes.to(at::kDouble)), expected) < 1e-9);
    }
  }
}

TEST_CASE("one number is the shorter side, the longer one is rounded down") {
  CHECK(applied(Resize({.size = 4}), test_images({1, 3, 7, 10})).sizes() == at::IntArrayRef({1, 3, 4, 5}));
  CHECK(applied(Resize({.size = 4}), test_images({1, 3, 10, 7})).sizes() == at::IntArrayRef({1, 3, 5, 4}));
  CHECK(applied(Resize({.size = 1}), test_images({1, 1, 2, 1})).sizes() == at::IntArrayRef({1, 1, 2, 1}));
  const at::Tensor same = test_images({2, 1, 4, 6});
  CHECK(at::equal(applied(Resize({.size = 4}), same), same));
}

TEST_CASE("nearest takes pixels as they are") {
  const at::Tensor images = test_images({2, 2, 3, 4});
  const at::Tensor doubled = applied(Resize({.size = {6, 8}, .interpolation = "nearest"}), images);
  CHECK(at::equal(doubled, images.repeat_interleave(2, 2).repeat_interleave(2, 3)));
}

TEST_CASE("bicubic bytes stay inside of 0 to 255, and half precision keeps its type") {
  const at::Tensor steps = test_images({1, 1, 4, 4}).gt(127).to(at::kByte).mul(255);
  const Resize wider({.size = {4, 9}, .interpolation = "bicubic"});
  const at::Tensor large = applied(wider, steps), exact = applied(wider, steps.to(at::kFloat));
  CHECK(large.scalar_type() == at::kByte);
  CHECK(exact.max().item<double>() > 256);
  CHECK(largest_difference(large, exact.clamp(0, 255).round()) <= 1);
  const at::Tensor half = applied(Resize({.size = 5}), float_images({1, 3, 9, 9}).to(at::kHalf));
  CHECK(half.scalar_type() == at::kHalf);
  CHECK(largest_difference(half, applied(Resize({.size = 5}), float_images({1, 3, 9, 9}))) < 2e-3);
}

TEST_CASE("each image is resized as alone") {
  for (const at::Tensor& images : {test_images({5, 3, 9, 9}), float_images({5, 1, 9, 9}), float_images({5, 3, 9, 9})}) {
    const Resize resize({.size = 6});
    const at::Tensor all = applied(resize, images);
    for (int64_t i = 0; i < 5; ++i) CHECK(at::equal(applied(resize, images.narrow(0, i, 1))[0], all[i]));
  }
}

TEST_CASE("Resize names bad options") {
  CHECK(error_text<levin::UsageError>([] { Resize({}); }) ==
        "Resize.size: expected a number or [height, width], got 0 numbers");
  CHECK(error_text<levin::UsageError>([] { Resize({.size = {1, 2, 3}}); }) ==
        "Resize.size: expected a number or [height, width], got 3 numbers");
  CHECK(error_text<levin::UsageError>([] { Resize({.size = 0}); }) == "Resize.size: expected at least 1, got 0");
}
