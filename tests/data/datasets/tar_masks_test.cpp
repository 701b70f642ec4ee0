#include <ATen/ops/cat.h>
#include <levin/data/files/image_file.h>
#include <levin/data/ignored_target.h>
#include <levin/data/transforms/compose.h>
#include <levin/data/transforms/crop.h>
#include <levin/data/transforms/random_flip.h>

#include "tests/data/datasets/tar_fixture.h"
#include "tests/file_bytes.h"

using levin::Batch;
using levin::kIgnoredTarget;
using namespace levin::data;
using tar_fixture::npy_bytes;
using tar_fixture::OneShard;

namespace {

/// Classes 0 to 4 that differ from pixel to pixel, uint8 [height, width].
at::Tensor classes(int64_t height, int64_t width, int64_t seed) {
  return at::arange(height * width, at::kLong).mul(2).add(seed).remainder(5).to(at::kByte).view({height, width});
}

std::string png_bytes(const at::Tensor& image) {
  const TemporaryFolder folder;
  write_png(folder / "a.png", image);
  return read_bytes(folder / "a.png");
}

TarDatasetOptions with_mask(const std::string& mask, TransformPtr transform = nullptr) {
  return {.members = {.mask = mask, .channels = 1}, .transform = std::move(transform)};
}

}  // namespace

TEST_CASE("masks in tar files move with their images and become targets") {
  // Each image shows its own mask, so that both are equal after any change that moves pixels.
  ArchiveMembers members;
  for (int64_t i = 0; i < 12; ++i) {
    const at::Tensor mask = classes(8, 9, i);
    const std::string key = std::to_string(i);
    members.emplace_back(key + ".cls", "7");
    members.emplace_back(key + ".mask.png", png_bytes(mask));
    members.emplace_back(key + ".png", png_bytes(mask));
  }
  const OneShard shard(members);
  const auto moves = std::make_shared<const Compose>(std::vector<TransformRef>{
      RandomHorizontalFlip(), RandomVerticalFlip(), RandomCrop({.size = {{6}}, .padding = {{1}}, .fill = {{0}}})});
  for (const TransformPtr& transform : {TransformPtr(), TransformPtr(moves)}) {
    const Batch batch = shard.batch(with_mask("mask.png", transform));
    CHECK(batch.names() == std::vector<std::string>{"input", "target", "cls"});
    CHECK(batch.target().scalar_type() == at::kLong);
    CHECK(batch.target().sizes() == (transform ? at::IntArrayRef({12, 6, 6}) : at::IntArrayRef({12, 8, 9})));
    const at::Tensor is_counted = batch.target() != kIgnoredTarget;
    CHECK(at::equal(batch.target().masked_select(is_counted),
                    batch.input().squeeze(1).to(at::kLong).masked_select(is_counted)));
    CHECK(is_counted.sum().item<int64_t>() > 12 * 20);
  }
}

TEST_CASE("masks in tar files may be arrays, have colours, and pixels that do not count") {
  const at::Tensor mask = classes(3, 4, 1);
  const std::string image = png_bytes(mask);
  const OneShard shard({{"0.png", image}, {"0.mask.npy", npy_bytes(mask.to(at::kShort))}});
  CHECK(at::equal(shard.batch(with_mask("mask")).target()[0], mask.to(at::kLong)));
  CHECK(at::equal(shard.batch(with_mask("MASK.npy")).target()[0], mask.to(at::kLong)));
  TarDatasetOptions ignoring = with_mask("mask");
  ignoring.members.ignore_index = 4;
  ignoring.class_names = {"a", "b", "c", "d"};
  CHECK(at::equal(shard.batch(ignoring).target()[0], mask.to(at::kLong).masked_fill(mask == 4, kIgnoredTarget)));
  const at::Tensor red = mask.remainder(2).mul(255).unsqueeze(0);
  const OneShard coloured({{"0.png", image}, {"0.seg.png", png_bytes(at::cat({red, red * 0, red * 0}))}});
  TarDatasetOptions colours = with_mask("seg.png");
  colours.members.mask_colors = {"#000000", "#ff0000"};
  CHECK(at::equal(coloured.batch(colours).target()[0], mask.remainder(2).to(at::kLong)));
}

TEST_CASE("errors of masks in tar files name the member or the option") {
  const std::string image = png_bytes(classes(3, 4, 1));
  const auto error = [](const ArchiveMembers& members, TarDatasetOptions options) {
    return OneShard(members).error(std::move(options));
  };
  CHECK(contains(error({{"0.png", image}}, with_mask("mask.png")), "sample 0 has no mask.png for target; it has png"));
  CHECK(contains(error({{"0.png", image}, {"0.mask.png", png_bytes(classes(4, 3, 1))}}, with_mask("mask.png")),
                 "sample 0: the mask has the size [4, 3], and its input [1, 3, 4]"));
  CHECK(contains(error({{"0.png", image}, {"0.mask.npy", npy_bytes(at::full({3, 4}, 0.5))}}, with_mask("mask")),
                 "member 0.mask.npy: a mask of whole numbers [height, width] was expected, got Float [3, 4]"));
  CHECK(
      contains(error({{"0.png", image}, {"0.mask.npy", npy_bytes(at::full({3, 4}, -1, at::kLong))}}, with_mask("mask")),
               "the pixel in column 0 and row 0 is of class -1"));
  CHECK(contains(error({{"0.png", image}, {"0.mask.txt", "1"}}, with_mask("mask.txt")),
                 "member 0.mask.txt: a mask is an image or a .npy array"));
  TarDatasetOptions few = with_mask("mask");
  few.class_names = {"a", "b"};
  CHECK(contains(error({{"0.png", image}, {"0.mask.npy", npy_bytes(classes(3, 4, 1))}}, few), "and there are 2"));
  TarDatasetOptions both = with_mask("mask");
  both.members.target = "cls";
  CHECK(contains(error({{"0.png", image}}, both), "data.mask: masks become `target`"));
  TarDatasetOptions none;
  none.members.ignore_index = 1;
  CHECK(contains(error({{"0.png", image}}, none), "data.mask: not set"));
}
