#include <levin/data/transforms/image_target.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <levin/data/ignored_target.h>
#include <levin/data/transforms/color_jitter.h>
#include <levin/data/transforms/crop.h>
#include <levin/data/transforms/random_affine.h>
#include <levin/data/transforms/random_flip.h>
#include <levin/data/transforms/random_resized_crop.h>
#include <levin/data/transforms/resize.h>

#include <memory>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;
using levin::Batch;
using levin::kIgnoredTarget;

namespace {

/// Transforms that move images, with nearest pixels, and 255 outside of the image.
std::vector<TransformPtr> moves() {
  return {std::make_shared<RandomHorizontalFlip>(),
          std::make_shared<RandomVerticalFlip>(RandomFlipOptions{.p = 0.7}),
          std::make_shared<RandomCrop>(RandomCropOptions{.size = {9, 6}, .padding = {4}, .fill = {255}}),
          std::make_shared<RandomCrop>(
              RandomCropOptions{.size = {20, 25}, .pad_if_needed = true, .padding_mode = PaddingMode::Reflect}),
          std::make_shared<Resize>(ResizeOptions{.size = {7, 23}, .interpolation = Interpolation::Nearest}),
          std::make_shared<RandomResizedCrop>(
              RandomResizedCropOptions{.size = {12}, .interpolation = Interpolation::Nearest}),
          std::make_shared<RandomRotation>(RandomRotationOptions{.degrees = {80}, .fill = {255}}),
          std::make_shared<RandomAffine>(RandomAffineOptions{
              .degrees = {30}, .translate = {0.2, 0.1}, .scale = {0.7, 1.4}, .shear = {15}, .fill = {255}})};
}

Batch with_boxes(const at::Tensor& boxes) {
  Batch batch(test_images({1, 3, 10, 20}));
  batch.set("boxes", boxes.clone());
  batch.set("labels", at::arange(boxes.size(0), at::kLong));
  return batch;
}

Batch moved(const Transform& transform, Batch batch) {
  std::vector<Rng> rngs = rngs_of({3});
  transform(batch, rngs);
  return batch;
}

}  // namespace

TEST_CASE("a mask moves as an image of its classes does, and what lies outside does not count") {
  // Classes below 255, which stands for what lies outside of an image.
  const at::Tensor classes = test_images({6, 1, 13, 17}).remainder(200);
  for (const TransformPtr& transform : moves()) {
    Batch batch(classes.clone());
    batch.set("mask", classes.squeeze(1).to(at::kLong));
    std::vector<Rng> rngs = rngs_of(first_indices(6));
    (*transform)(batch, rngs);
    const at::Tensor image = batch.input().squeeze(1).to(at::kLong);
    CHECK(batch["mask"].scalar_type() == at::kLong);
    CHECK(at::equal(batch["mask"], at::where(image.eq(255), at::tensor(kIgnoredTarget), image)));
  }
}

TEST_CASE("transforms of colours leave masks and boxes") {
  Batch batch = with_boxes(at::tensor({1.f, 2.f, 5.f, 6.f}).view({1, 4}));
  batch.set("mask", test_images({1, 10, 20}).to(at::kLong));
  const Batch after = moved(ColorJitter({.brightness = {0.5}}), batch.clone());
  CHECK(!at::equal(after.input(), batch.input()));
  CHECK(at::equal(after["mask"], batch["mask"]));
  CHECK(at::equal(after["boxes"], batch["boxes"]));
}

TEST_CASE("the box around a rectangle of pixels stays around it") {
  // A white rectangle, and its box: rows 3 to 7, columns 4 to 11.
  const auto around = [](const at::Tensor& image) {
    const at::Tensor white = image[0][0].gt(0);
    const at::Tensor rows = white.any(1).nonzero(), columns = white.any(0).nonzero();
    return at::tensor({columns.min().item<float>(), rows.min().item<float>(), columns.max().item<float>() + 1,
                       rows.max().item<float>() + 1});
  };
  at::Tensor image = at::zeros({1, 1, 16, 20}, at::kByte);
  image.narrow(2, 3, 5).narrow(3, 4, 8).fill_(255);
  const std::vector<TransformPtr> exact = {
      std::make_shared<RandomHorizontalFlip>(RandomFlipOptions{.p = 1}),
      std::make_shared<RandomVerticalFlip>(RandomFlipOptions{.p = 1}),
      std::make_shared<RandomCrop>(RandomCropOptions{.size = {12, 15}, .padding = {3}}),
      std::make_shared<CenterCrop>(CenterCropOptions{.size = {10, 30}}),
      std::make_shared<Resize>(ResizeOptions{.size = {32, 60}, .interpolation = Interpolation::Nearest}),
      std::make_shared<RandomRotation>(RandomRotationOptions{.degrees = {180, 180}}),
      std::make_shared<RandomAffine>(RandomAffineOptions{.degrees = {0}, .translate = {0.2, 0.2}})};
  for (const TransformPtr& transform : exact) {
    Batch batch(image.clone());
    batch.set("boxes", at::tensor({4.f, 3.f, 12.f, 8.f}).view({1, 4}));
    const Batch after = moved(*transform, std::move(batch));
    REQUIRE(after["boxes"].size(0) == 1);
    CHECK((after["boxes"][0] - around(after.input())).abs().max().item<float>() < 1e-3);
  }
}

TEST_CASE("a box is cut at the edges, and removed with its label if less than a pixel is left") {
  const at::Tensor boxes = at::tensor({0.f, 0.f, 4.f, 4.f, 6.f, 3.f, 14.f, 7.f, 17.f, 8.f, 20.f, 10.f}).view({3, 4});
  const Batch after = moved(CenterCrop({.size = {6, 10}}), with_boxes(boxes));
  CHECK(at::equal(after["boxes"], at::tensor({1.f, 1.f, 9.f, 5.f}).view({1, 4})));
  CHECK(at::equal(after["labels"], at::tensor({int64_t{1}})));
  const Batch none = moved(CenterCrop({.size = {2, 2}}), with_boxes(boxes.narrow(0, 0, 1)));
  CHECK(none["boxes"].sizes() == at::IntArrayRef({0, 4}));
  CHECK(none["labels"].sizes() == at::IntArrayRef({0}));
}

TEST_CASE("fields that do not fit the images are named") {
  const RandomHorizontalFlip flip({.p = 1});
  Batch batch(test_images({1, 3, 10, 20}));
  batch.set("mask", test_images({1, 10, 19}).to(at::kLong));
  CHECK(error_text([&] {
          moved(flip, batch);
        }).starts_with("RandomHorizontalFlip: needs `mask` as int64 [samples, height, width]"));
  Batch other(test_images({1, 3, 10, 20}));
  other.set("boxes", test_images({1, 3}));
  CHECK(error_text([&] { moved(flip, other); }).starts_with("RandomHorizontalFlip: needs `boxes` as float32"));
  Batch uneven = with_boxes(at::tensor({0.f, 0.f, 4.f, 4.f}).view({1, 4}));
  uneven.set("labels", at::arange(2, at::kLong));
  CHECK(error_text([&] { moved(flip, uneven); }).starts_with("RandomHorizontalFlip: needs `labels` as one row"));
}
