#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_files.h>
#include <levin/data/datasets/readers/mask_pairs.h>
#include <levin/data/files/image_file.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using data::ImageList;
using data::MaskFolders;

constexpr int64_t kMaskEpochs = 30, kMaskBatch = 8, kBlack = 0, kWhite = 255;

/// How many pixels of the masks looked at have each value, by value.
using ValueCounts = std::map<int64_t, int64_t>;

/// What the masks of a training part hold.
struct Masks {
  ValueCounts values = {};
  std::vector<int64_t> shorter_sides = {};
  bool have_colours = false;
};

/// Returns what the masks' names have behind those of the images, from the first of both: "_mask" of a.jpg and
/// a_mask.png.
std::string suffix_of_masks(const fs::path& images, const fs::path& masks) {
  const std::string image = fs::path(data::find_images(images).front()).stem().string();
  for (const std::string& path : data::find_images(masks)) {
    const std::string name = fs::path(path).stem().string();
    if (name.starts_with(image)) return name.substr(image.size());
  }
  return {};
}

/// Counts the values of a mask; a mask of colours sets `have_colours`.
void count_values(Masks& masks, const fs::path& file) {
  const at::Tensor indices = data::read_image(file, {.values = data::PixelValues::Indices}).contiguous();
  masks.shorter_sides.push_back(std::min(indices.size(1), indices.size(2)));
  masks.have_colours = masks.have_colours || indices.size(0) != 1;
  if (masks.have_colours) return;
  const at::Tensor values = indices.to(at::kLong);
  const auto* from = values.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < values.numel(); ++i) ++masks.values[from[i]];
}

Masks look_at_masks(Guess& guess, const ImageList& list, const GuessOptions& options) {
  Masks masks;
  for (const size_t i : to_look_at(list.masks.size(), options)) {
    try {
      count_values(masks, list.masks[i]);
    } catch (const UsageError& error) {
      guess.stops.push_back({.what = error.what()});
      break;
    }
  }
  return masks;
}

/// Sets what the values of the masks mean. Returns the number of classes.
int64_t set_classes(Guess& guess, const Masks& masks) {
  const ValueCounts& values = masks.values;
  const bool is_black_and_white = values.size() == 2 && values.contains(kBlack) && values.contains(kWhite);
  if (is_black_and_white) {
    guess.config.set("data", "mask_colors", std::vector<std::string>{"#000000", "#ffffff"},
                     "masks are black and white: class 0 and class 1");
    return 2;
  }
  int64_t most = values.rbegin()->first;
  if (most == kWhite && values.size() > 1) {
    guess.config.set("data", "ignore_index", kWhite, "taken as pixels that do not count");
    most = std::next(values.rbegin())->first;
  }
  return std::max<int64_t>(2, most + 1);
}

}  // namespace

std::optional<MaskFolders> mask_folders(const fs::path& root) {
  constexpr std::array<const char*, 3> kImages = {"images", "image", "imgs"};
  constexpr std::array<const char*, 6> kMasks = {"masks", "mask", "labels", "annotations", "segmentations", "targets"};
  for (const fs::path& place : {root, root / "train"}) {
    for (const char* images : kImages) {
      for (const char* masks : kMasks) {
        std::error_code ignored;
        if (!fs::is_directory(place / images, ignored) || !fs::is_directory(place / masks, ignored)) continue;
        MaskFolders folders{.root = root, .images = images, .masks = masks};
        try {
          const std::string part = folders.is_divided() ? "train" : "";
          folders.suffix = suffix_of_masks(folders.images_of(part), folders.masks_of(part));
          return folders;
        } catch (const UsageError&) {  // no images in one of them: other data
        }
      }
    }
  }
  return {};
}

Guess guess_masks(const MaskFolders& folders, const GuessOptions& options) {
  Guess guess{.kind = "images with masks"};
  const bool is_divided = folders.is_divided(), has_val = folders.has("val");
  ImageList train;
  for (const std::string part : {is_divided ? "train" : "", "val", "test"}) {
    if ((part == "val" || part == "test") && !folders.has(part)) continue;
    try {
      ImageList list = data::find_mask_pairs(folders, part);
      guess.seen.push_back((part.empty() ? "" : part + ": ") +
                           counted(static_cast<int64_t>(list.paths.size()), "image") + " with masks");
      if (part.empty() || part == "train") train = std::move(list);
    } catch (const UsageError& error) {
      guess.stops.push_back({.what = error.what()});
    }
  }
  if (!guess.stops.empty()) return guess;
  const Masks masks = look_at_masks(guess, train, options);
  if (masks.have_colours)
    guess.stops.push_back(
        {train.masks.front() + ": a mask of colours",
         "name the colour of each class in data.mask_colors, or save masks in gray or with a palette"});
  if (!guess.stops.empty()) return guess;
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const auto& [value, count] : masks.values) counts.emplace_back("value " + std::to_string(value), count);
  guess.seen.push_back("  pixels of the masks: " + listed(counts));

  set_training(guess.config, "masks", kMaskEpochs);
  guess.config.set("model", "class", "UNet");
  guess.config.set("data", "class", "Segmentation");
  guess.config.set("data", "root", folders.root.string());
  guess.config.set("data", "images", folders.images);
  guess.config.set("data", "masks", folders.masks);
  if (!folders.suffix.empty()) guess.config.set("data", "mask_suffix", folders.suffix);
  guess.config.set("model", "num_classes", set_classes(guess, masks));
  guess.config.set("model", "base_channels", 32, "64 as in the paper learns more, and takes longer");
  set_optimizer(guess.config);
  guess.config.set("data", "image_size", common_side(masks.shorter_sides), "each image and mask is resized");
  if (has_val)
    set_best_checkpoint(guess.config);
  else
    set_val_fraction(guess.config, static_cast<int64_t>(train.paths.size()));
  guess.config.set("data", "batch_size", kMaskBatch);
  guess.config.set("data", "num_workers", 2);
  guess.config.note("data", "\"transforms\": [\"RandomHorizontalFlip\"] helps where a mirrored image is as good");
  return guess;
}

}  // namespace levin::cli
