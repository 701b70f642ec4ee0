#include <levin/data/datasets/segmentation.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/where.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/files/image_file.h>
#include <levin/data/ignored_target.h>
#include <levin/data/transforms/random_affine.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/catch.h"
#include "tests/data/files/pictures.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::kIgnoredTarget;
using levin::Stage;
using levin::UsageError;
using namespace levin::data;
using namespace levin::testing;

namespace {

namespace fs = std::filesystem;

/// A mask of gray with the classes 0 to 2, and 255 in its first column; uint8 [height, width].
at::Tensor classes(int64_t height, int64_t width, uint64_t seed) {
  at::Tensor mask = picture(height, width, seed, 1)[0].remainder(3);
  mask.select(1, 0).fill_(255);
  return mask;
}

struct Pairs {
  std::vector<at::Tensor> images = {}, masks = {};
};

/// Writes `count` images and their masks.
Pairs add_pairs(const fs::path& images, const fs::path& masks, int count, const std::string& suffix = "",
                int64_t height = 8, int64_t width = 12) {
  fs::create_directories(images);
  fs::create_directories(masks);
  Pairs pairs;
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<uint64_t>(i);
    pairs.images.push_back(picture(height, width, seed));
    pairs.masks.push_back(classes(height, width, seed));
    const std::string name = std::to_string(10 + i);
    write_png(images / (name + ".png"), pairs.images.back());
    write_png(masks / (name + suffix + ".png"), pairs.masks.back());
  }
  return pairs;
}

SegmentationOptions options_of(const fs::path& root) {
  SegmentationOptions options{.root = root.string(), .ignore_index = 255, .val_fraction = 0};
  options.input.image_size = {};
  options.input.mean = options.input.std = {};
  return options;
}

Batch batch_of(Segmentation& data, Split split, std::vector<int64_t> list, int64_t epoch = 0) {
  data.setup(split == Split::Predict ? Stage::Predict : split == Split::Test ? Stage::Test : Stage::Fit);
  Indices indices(std::move(list));
  indices.seed = 5;
  indices.epoch = epoch;
  Batch batch;
  data.dataset(split)->get_batch(indices, batch);
  return batch;
}

/// Returns the target of a mask of gray.
at::Tensor target_of(const at::Tensor& mask) {
  const at::Tensor numbers = mask.to(at::kLong);
  return at::where(numbers.eq(255), at::full_like(numbers, kIgnoredTarget), numbers);
}

}  // namespace

TEST_CASE("images come with their masks, whose ignored class does not count") {
  const TemporaryFolder folder;
  const Pairs pairs = add_pairs(folder / "images", folder / "masks", 3);
  Segmentation data(options_of(folder.path()));
  const Batch batch = batch_of(data, Split::Train, {2, 0});
  CHECK(at::equal(batch.input()[0], pairs.images[2]));
  CHECK(at::equal(batch.target()[0], target_of(pairs.masks[2])));
  CHECK(at::equal(batch.target()[1], target_of(pairs.masks[0])));
  CHECK(batch.target().sizes() == at::IntArrayRef({2, 8, 12}));
}

TEST_CASE("both layouts of parts are found, and names with a suffix") {
  for (const bool part_first : {true, false}) {
    const TemporaryFolder folder;
    for (const std::string part : {"train", "val", "test"}) {
      const auto place = [&](const char* name) { return part_first ? folder / part / name : folder / name / part; };
      add_pairs(place("photos"), place("labels"), part == "train" ? 4 : 2, "_mask");
    }
    SegmentationOptions options = options_of(folder.path());
    options.images = "photos";
    options.masks = "labels";
    options.mask_suffix = "_mask";
    Segmentation data(options);
    for (const Stage stage : {Stage::Fit, Stage::Test, Stage::Predict}) data.setup(stage);
    CHECK(data.dataset(Split::Train)->size() == 4);
    CHECK(data.dataset(Split::Val)->size() == 2);
    CHECK(data.dataset(Split::Test)->size() == 2);
    CHECK(!batch_of(data, Split::Predict, {0, 1}).contains("target"));
  }
}

TEST_CASE("masks are resized to the nearest pixel, and moved with their images by (seed, epoch, index) alone") {
  const TemporaryFolder folder;
  const Pairs pairs = add_pairs(folder / "images", folder / "masks", 4, "", 9, 15);
  SegmentationOptions options = options_of(folder.path());
  options.input.image_size = {18, 30};
  Segmentation plain(options);
  const Batch resized = batch_of(plain, Split::Train, {0, 1, 2, 3});
  const at::Tensor wanted =
      at::upsample_nearest2d(target_of(pairs.masks[1]).to(at::kFloat).view({1, 1, 9, 15}), {18, 30});
  CHECK(at::equal(resized.target()[1], wanted[0][0].to(at::kLong)));

  options.input.transforms = {{"RandomAffine", RandomAffineOptions{.degrees = {40}, .translate = {0.2, 0.2}}},
                              "RandomHorizontalFlip"};
  Segmentation moving(options);
  const Batch all = batch_of(moving, Split::Train, {0, 1, 2, 3}, 1), one = batch_of(moving, Split::Train, {2}, 1);
  CHECK(at::equal(all.input()[2], one.input()[0]));
  CHECK(at::equal(all.target()[2], one.target()[0]));
  CHECK(!at::equal(all.target(), batch_of(moving, Split::Train, {0, 1, 2, 3}, 2).target()));
  CHECK(!at::equal(all.target(), resized.target()));
}

TEST_CASE("masks of colours become classes") {
  const TemporaryFolder folder;
  add_pairs(folder / "images", folder / "masks", 1);
  at::Tensor colours = at::full({3, 8, 12}, 0, at::kByte);
  colours[0].narrow(0, 2, 3).fill_(255);
  colours[2].narrow(1, 0, 4).fill_(128);
  write_png(folder / "masks/10.png", colours);
  SegmentationOptions options = options_of(folder.path());
  options.ignore_index = 3;
  options.mask_colors = {"#000000", "#ff0000", "#000080", "#ff0080"};
  Segmentation data(options);
  const at::Tensor target = batch_of(data, Split::Train, {0}).target()[0];
  CHECK(target[0][11].item<int64_t>() == 0);
  CHECK(target[3][11].item<int64_t>() == 1);
  CHECK(target[0][0].item<int64_t>() == 2);
  CHECK(target[3][0].item<int64_t>() == kIgnoredTarget);
  options.mask_colors.pop_back();
  Segmentation few(options);
  CHECK(error_text<UsageError>([&] {
          batch_of(few, Split::Train, {0});
        }).find("masks/10.png: the colour #ff0080 of the pixel in column 0 and row 2 is none") != std::string::npos);
  options.mask_colors = {"red"};
  CHECK(error_text<UsageError>([&] { Segmentation{options}; }).starts_with("data.mask_colors: 'red' is no colour"));
}

TEST_CASE("what is wrong with a pair is named with its file") {
  const TemporaryFolder folder;
  add_pairs(folder / "images", folder / "masks", 2);
  const auto message = [&](const SegmentationOptions& options, Split split = Split::Train) {
    return error_text<UsageError>([&] {
      Segmentation data(options);
      batch_of(data, split, {0, 1});
    });
  };
  SegmentationOptions options = options_of(folder.path());
  options.classes = {"sky", "road"};
  CHECK(message(options).find("is of class 2, and there are 2; add it to the classes") != std::string::npos);
  write_png(folder / "masks/11.png", classes(8, 11, 0));
  CHECK(message(options_of(folder.path())).find("this mask has 11 x 8 pixels, and its image") != std::string::npos);
  write_jpeg(folder / "masks/11.jpg", classes(8, 12, 0));
  CHECK(message(options_of(folder.path())).find("there is another mask for the same image") != std::string::npos);
  fs::remove(folder / "masks/11.png");
  CHECK(message(options_of(folder.path())).find("masks/11.jpg: JPEG changes pixels a little") != std::string::npos);
  fs::remove(folder / "masks/11.jpg");
  CHECK(message(options_of(folder.path())).find("images/11.png: this image has no mask in") != std::string::npos);
  fs::remove_all(folder / "masks");
  CHECK(message(options_of(folder.path())).starts_with("data.masks: there is no folder"));
  CHECK(error_text<UsageError>([] { Segmentation(SegmentationOptions{}); }).starts_with("data.root: not set"));
}

TEST_CASE("images that cannot be read are left out if on_error says so") {
  const TemporaryFolder folder;
  const Pairs pairs = add_pairs(folder / "images", folder / "masks", 3);
  fs::resize_file(folder / "images/11.png", 50);
  SegmentationOptions options = options_of(folder.path());
  options.input.on_error = ImageErrors::Skip;
  Segmentation data(options);
  const Batch batch = batch_of(data, Split::Train, {0, 1, 2});
  REQUIRE(batch.size() == 2);
  CHECK(at::equal(batch.input()[1], pairs.images[2]));
  CHECK(at::equal(batch.target()[1], target_of(pairs.masks[2])));
}
