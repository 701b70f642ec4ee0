#include <levin/data/transforms/random_affine.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <levin/data/transforms/engine/warp.h>

#include <cmath>
#include <numbers>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

namespace {

at::Tensor rotated(const at::Tensor& images, double degrees, RandomRotationOptions options = {}) {
  options.degrees = {degrees, degrees};
  return applied(RandomRotation(options), images);
}

at::Tensor warped(const at::Tensor& images, const AffineMap& map,
                  Interpolation interpolation = Interpolation::Nearest) {
  const std::vector<InverseMap> maps(static_cast<size_t>(images.size(0)), map.inverse());
  return warp(images, maps, interpolation, std::vector<double>(static_cast<size_t>(images.size(1)), 0.0));
}

}  // namespace

TEST_CASE("quarter turns go counter-clockwise") {
  const at::Tensor images = test_images({2, 3, 6, 6});
  for (const char* interpolation : {"nearest", "bilinear"}) {
    const RandomRotationOptions options = {.interpolation = interpolation};
    CHECK(at::equal(rotated(images, 0, options), images));
    CHECK(at::equal(rotated(images, 90, options), images.rot90(1, {2, 3})));
    CHECK(at::equal(rotated(images, -90, options), images.rot90(-1, {2, 3})));
    CHECK(at::equal(rotated(images, 180, options), images.rot90(2, {2, 3})));
  }
  const at::Tensor odd = test_images({1, 1, 5, 5});
  CHECK(at::equal(rotated(odd, 450), odd.rot90(1, {2, 3})));
}

TEST_CASE("any angle shows the pixel that a turn of its place gives") {
  const at::Tensor images = test_images({1, 1, 9, 7});
  for (const double degrees : {17.0, -33.0, 121.0}) {
    const at::Tensor out = rotated(images, degrees);
    const double turn = degrees * std::numbers::pi / 180;
    for (int64_t y = 0; y < 9; ++y)
      for (int64_t x = 0; x < 7; ++x) {
        // An output pixel shows the place that a clockwise turn gives; y points down.
        const double dx = static_cast<double>(x) - 3, dy = static_cast<double>(y) - 4;
        const auto from_x = std::llround(dx * std::cos(turn) - dy * std::sin(turn) + 3);
        const auto from_y = std::llround(dx * std::sin(turn) + dy * std::cos(turn) + 4);
        const bool inside = from_x >= 0 && from_x < 7 && from_y >= 0 && from_y < 9;
        CHECK(out[0][0][y][x].item<int64_t>() == (inside ? images[0][0][from_y][from_x].item<int64_t>() : 0));
      }
  }
}

TEST_CASE("images are moved, stretched and sheared by whole pixels") {
  const at::Tensor images = test_images({2, 2, 6, 8});
  const at::Tensor moved = warped(images, {.move_x = 2, .move_y = -1});
  CHECK(at::equal(moved.narrow(2, 0, 5).narrow(3, 2, 6), images.narrow(2, 1, 5).narrow(3, 0, 6)));
  CHECK(moved.narrow(3, 0, 2).sum().item<int64_t>() == 0);
  CHECK(moved.narrow(2, 5, 1).sum().item<int64_t>() == 0);
  const at::Tensor doubled = warped(images, {.scale = 2});
  CHECK(at::equal(
      doubled, images.narrow(2, 1, 4).narrow(3, 2, 4).repeat_interleave(2, 2).repeat_interleave(2, 3).narrow(2, 1, 6)));
  // A shear of 45 degrees along x moves each row by its distance from the middle, here half pixels from 2.5 to -2.5.
  const at::Tensor square = test_images({1, 1, 5, 5});
  const at::Tensor sheared = warped(square, {.shear_x = 45});
  for (int64_t y = 0; y < 5; ++y)
    for (int64_t x = 0; x < 5; ++x) {
      const int64_t from = x + (y - 2);
      const int64_t expected = from >= 0 && from < 5 ? square[0][0][y][from].item<int64_t>() : 0;
      CHECK(sheared[0][0][y][x].item<int64_t>() == expected);
    }
}

TEST_CASE("the inverse of a map leads back") {
  const AffineMap map = {.angle = 25, .move_x = 3, .move_y = -4, .scale = 1.3, .shear_x = 10, .shear_y = -7};
  const InverseMap m = map.inverse();
  // The place that the origin's pixel comes from, moved forward again, is the origin.
  CHECK(m[0] * 3 + m[1] * -4 + m[2] == Approx(0).margin(1e-12));
  CHECK(m[3] * 3 + m[4] * -4 + m[5] == Approx(0).margin(1e-12));
  CHECK(m[0] * m[4] - m[1] * m[3] == Approx(1 / (1.3 * 1.3)));
}

TEST_CASE("places outside of the image are filled, mixed at bilinear borders") {
  const at::Tensor images = at::full({1, 2, 4, 4}, 100.0);
  const at::Tensor corner = rotated(images, 45, {.fill = {7, 9}}).select(2, 0).select(2, 0);
  CHECK(corner[0][0].item<double>() == 7);
  CHECK(corner[0][1].item<double>() == 9);
  // A move by half a pixel mixes the first column half with the fill; the others are mixed among themselves.
  const InverseMap half = {1, 0, -0.5, 0, 1, 0};
  const at::Tensor out = warp(images, {half}, Interpolation::Bilinear, {20, 0});
  CHECK(out[0][0][1][0].item<double>() == Approx(60));
  CHECK(out[0][1][1][0].item<double>() == Approx(50));
  CHECK(out[0][0][1][1].item<double>() == Approx(100));
  const at::Tensor bytes = warp(images.to(at::kByte), {half}, Interpolation::Bilinear, {20, 0});
  CHECK(bytes.scalar_type() == at::kByte);
  CHECK(bytes[0][0][1][0].item<int64_t>() == 60);
}

TEST_CASE("random angles, moves, stretches and shears come from the whole of their ranges") {
  // A bright pixel right of the middle of a dark image is where the map moved it.
  at::Tensor image = at::zeros({1, 1, 41, 41});
  image[0][0][20][32] = 1;
  const at::Tensor images = image.expand({300, 1, 41, 41});
  const auto angles_of = [](const at::Tensor& out) {
    double least = 999, most = -999;
    for (int64_t i = 0; i < out.size(0); ++i) {
      const at::Tensor place = out[i][0].nonzero();
      if (place.size(0) == 0) continue;
      const double y = static_cast<double>(20 - place[0][0].item<int64_t>());
      const double x = static_cast<double>(place[0][1].item<int64_t>() - 20);
      const double angle = std::atan2(y, x) * 180 / std::numbers::pi;
      least = std::min(least, angle);
      most = std::max(most, angle);
    }
    return std::pair{least, most};
  };
  const auto [least, most] = angles_of(applied(RandomRotation({.degrees = {10, 60}}), images));
  CHECK(least == Approx(10).margin(5));
  CHECK(most == Approx(60).margin(5));
  const auto [first, last] = angles_of(applied(RandomAffine({.degrees = 40}), images));
  CHECK(first == Approx(-40).margin(5));
  CHECK(last == Approx(40).margin(5));
  const at::Tensor moved = applied(RandomAffine({.degrees = 0, .translate = {0.1, 0.2}}), images);
  const at::Tensor places = moved.nonzero();
  CHECK(places.size(0) == 300);
  CHECK(places.select(1, 2).min().item<int64_t>() == 20 - 8);
  CHECK(places.select(1, 2).max().item<int64_t>() == 20 + 8);
  CHECK(places.select(1, 3).min().item<int64_t>() == 32 - 4);
  CHECK(places.select(1, 3).max().item<int64_t>() == 32 + 4);
  const at::Tensor areas =
      applied(RandomAffine({.degrees = 0, .scale = {0.5, 2}}), at::full({100, 1, 40, 40}, 1.0)).sum({1, 2, 3});
  CHECK(areas.min().item<double>() == Approx(400).epsilon(0.15));
  CHECK(areas.max().item<double>() == 1600);
  const at::Tensor square = test_images({20, 1, 8, 8});
  CHECK_FALSE(at::equal(applied(RandomAffine({.degrees = 0, .shear = 30}), square), square));
  CHECK_FALSE(at::equal(applied(RandomAffine({.degrees = 0, .shear = {0, 0, -30, 30}}), square), square));
  CHECK(at::equal(applied(RandomAffine({.degrees = 0, .shear = {0, 0, 0, 0}}), square), square));
}

TEST_CASE("rotations and affine maps depend on each sample's random numbers alone") {
  for (const char* interpolation : {"nearest", "bilinear"}) {
    CHECK(depends_on_sample_alone(RandomRotation({.degrees = 180, .interpolation = interpolation, .fill = 3}),
                                  test_images({9, 3, 11, 13})));
    CHECK(depends_on_sample_alone(RandomAffine({.degrees = 30,
                                                .translate = {0.2, 0.1},
                                                .scale = {0.8, 1.2},
                                                .shear = {-5, 5, -9, 9},
                                                .interpolation = interpolation}),
                                  float_images({9, 1, 12, 12})));
  }
}

TEST_CASE("RandomRotation and RandomAffine name bad options") {
  const auto error = [](auto make) { return error_text<levin::UsageError>(make); };
  CHECK(error([] { RandomRotation({}); }) == "RandomRotation.degrees: missing; give a number or [least, greatest]");
  CHECK(error([] { RandomRotation({.degrees = -3}); }) ==
        "RandomRotation.degrees: expected at least 0 for a single number, got -3");
  CHECK(error([] { RandomRotation({.degrees = {1, 2, 3}}); }) ==
        "RandomRotation.degrees: expected [low, high], got 3 numbers");
  CHECK(error([] { RandomAffine({.degrees = 1, .translate = 0.1}); }) ==
        "RandomAffine.translate: expected [x, y], got 1 numbers");
  CHECK(error([] { RandomAffine({.degrees = 1, .translate = {0.1, 1.1}}); }) ==
        "RandomAffine.translate[1]: expected at least 0 and at most 1, got 1.1");
  CHECK(error([] { RandomAffine({.degrees = 1, .scale = {2, 1}}); }) == "RandomAffine.scale: 2 is more than 1");
  CHECK(error([] { RandomAffine({.degrees = 1, .shear = {1, 2, 3}}); }) ==
        "RandomAffine.shear: expected 1, 2 or 4 numbers, got 3");
}
