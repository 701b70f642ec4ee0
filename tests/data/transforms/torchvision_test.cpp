#include <ATen/ops/tensor.h>
#include <levin/data/transforms/color_jitter.h>
#include <levin/data/transforms/convert_image.h>
#include <levin/data/transforms/crop.h>
#include <levin/data/transforms/engine/warp.h>
#include <levin/data/transforms/normalize.h>
#include <levin/data/transforms/random_affine.h>
#include <levin/data/transforms/random_flip.h>
#include <levin/data/transforms/resize.h>

#include <cstdlib>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/modules/python_reference.h"

using namespace levin::data;
using Json = nlohmann::ordered_json;

namespace {

struct Case {
  const char* function;
  Json arguments;
  std::function<at::Tensor(const at::Tensor&)> ours;
  std::vector<int64_t> sizes = {2, 3, 11, 14};
  double tolerance = 1e-5;       // of floating point
  double bytes_that_differ = 0;  // share of the pixels that may differ by one level
};

template <class T>
std::function<at::Tensor(const at::Tensor&)> by(T transform) {
  return [transform](const at::Tensor& images) { return applied(transform, images); };
}

std::function<at::Tensor(const at::Tensor&)> warped_by(const AffineMap& map, Interpolation interpolation) {
  return [=](const at::Tensor& images) {
    const std::vector<InverseMap> maps(static_cast<size_t>(images.size(0)), map.inverse());
    return warp(images, maps, interpolation, {0, 0, 0});
  };
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"horizontal_flip", Json::object(), by(RandomHorizontalFlip({.p = 1}))},
      {"vertical_flip", Json::object(), by(RandomVerticalFlip({.p = 1}))},
      {"center_crop", {{"output_size", {4, 7}}}, by(CenterCrop({.size = {4, 7}}))},
      {"center_crop", {{"output_size", {8, 9}}}, by(CenterCrop({.size = {8, 9}}))},
      {"center_crop", {{"output_size", {16, 9}}}, by(CenterCrop({.size = {16, 9}}))},
      {"center_crop", {{"output_size", {14, 19}}}, by(CenterCrop({.size = {14, 19}}))},
      {"adjust_brightness", {{"brightness_factor", 1.37}}, by(ColorJitter({.brightness = {1.37, 1.37}}))},
      {"adjust_contrast", {{"contrast_factor", 0.63}}, by(ColorJitter({.contrast = {0.63, 0.63}})), {1, 3, 11, 14}},
      {"adjust_contrast", {{"contrast_factor", 1.9}}, by(ColorJitter({.contrast = {1.9, 1.9}})), {2, 1, 11, 14}},
      {"adjust_saturation", {{"saturation_factor", 1.71}}, by(ColorJitter({.saturation = {1.71, 1.71}}))},
      {"adjust_saturation", {{"saturation_factor", 0.2}}, by(ColorJitter({.saturation = {0.2, 0.2}}))},
      {"adjust_hue", {{"hue_factor", 0.13}}, by(ColorJitter({.hue = {0.13, 0.13}}))},
      {"adjust_hue", {{"hue_factor", -0.41}}, by(ColorJitter({.hue = {-0.41, -0.41}}))},
  };
  for (Case& c : all) c.bytes_that_differ = std::string(c.function).starts_with("adjust") ? 0.01 : 0;
  for (const char* mode : {"constant", "edge", "reflect", "symmetric"}) {
    all.push_back({"pad",
                   {{"padding", {1, 2, 3, 4}}, {"padding_mode", mode}},
                   by(RandomCrop({.size = {17, 18}, .padding = {1, 2, 3, 4}, .padding_mode = mode}))});
  }
  for (const auto& [interpolation, antialias] :
       {std::pair{"nearest", false}, {"bilinear", false}, {"bilinear", true}, {"bicubic", false}, {"bicubic", true}}) {
    for (const auto& size : {std::vector<int64_t>{5, 6}, {20, 23}, {6}}) {
      all.push_back({"resize",
                     {{"size", size}, {"interpolation", interpolation}, {"antialias", antialias}},
                     by(Resize({.size = size, .interpolation = interpolation, .antialias = antialias})),
                     {2, 3, 11, 14},
                     1e-5,
                     0.02});
    }
  }
  for (const char* interpolation : {"nearest", "bilinear"}) {
    for (const double angle : {33.0, -121.5, 90.0}) {
      RandomRotationOptions options = {.degrees = {angle, angle}, .interpolation = interpolation};
      all.push_back({"rotate",
                     {{"angle", angle}, {"interpolation", interpolation}},
                     by(RandomRotation(options)),
                     {2, 3, 11, 14},
                     1e-4,
                     0.01});
    }
    const AffineMap map = {.angle = 21, .move_x = 2, .move_y = -1, .scale = 1.25, .shear_x = 9, .shear_y = -6};
    all.push_back({"affine",
                   {{"angle", 21.0},
                    {"translate", {2, -1}},
                    {"scale", 1.25},
                    {"shear", {9.0, -6.0}},
                    {"interpolation", interpolation}},
                   warped_by(map, levin::Choice<Interpolation>(interpolation)),
                   {2, 3, 11, 14},
                   1e-4,
                   0.01});
  }
  return all;
}

/// Compares one case; floating-point pixels by the tolerance, bytes by the part that differs at all.
void compare(const Case& c, bool floating, const Json& reference) {
  INFO(c.function << " " << c.arguments.dump() << (floating ? ", float32" : ", uint8"));
  const at::Tensor ours = c.ours(floating ? float_images(c.sizes) : test_images(c.sizes));
  REQUIRE(reference["sizes"].get<std::vector<int64_t>>() == ours.sizes().vec());
  const at::Tensor theirs = at::tensor(reference["values"].get<std::vector<double>>()).view(ours.sizes());
  const at::Tensor difference = (ours.to(at::kDouble) - theirs).abs();
  if (floating) {
    CHECK(difference.max().item<double>() <= c.tolerance);
  } else {
    CHECK(difference.max().item<double>() <= 1);
    CHECK(difference.gt(0).to(at::kDouble).mean().item<double>() <= c.bytes_that_differ);
  }
}

}  // namespace

TEST_CASE("transforms without randomness give what torchvision gives") {
  const std::vector<Case> all = cases();
  Json asked = Json::array();
  for (const bool floating : {false, true}) {
    for (const Case& c : all)
      asked.push_back(
          {{"function", c.function}, {"arguments", c.arguments}, {"sizes", c.sizes}, {"floating", floating}});
  }
  const char* folder = std::getenv("LEVIN_TEST_TORCHVISION");
  const auto reference = python_reference("transforms", asked, folder ? folder : "");
  if (!reference || reference->is_null()) {
    WARN("SKIPPED: needs torchvision in LEVIN_TEST_PYTHON, or in the folder LEVIN_TEST_TORCHVISION");
    return;
  }
  REQUIRE(reference->size() == asked.size());
  for (size_t i = 0; i < all.size(); ++i) compare(all[i], false, (*reference)[i]);
  for (size_t i = 0; i < all.size(); ++i) compare(all[i], true, (*reference)[all.size() + i]);
}
