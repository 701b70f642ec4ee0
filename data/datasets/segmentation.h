#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/image_input_options.h>
#include <levin/data/datasets/readers/image_list_dataset.h>
#include <levin/data/datasets/readers/mask_pairs.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

struct SegmentationOptions {
  std::string root = LEVIN_OPTION(
      root, "", "Folder with the folders of images and masks, or with train, val and test that have them; required");
  std::string images = LEVIN_OPTION(images, "images", "Name of the folders of images");
  std::string masks = LEVIN_OPTION(masks, "masks", "Name of the folders of masks");
  std::string mask_suffix =
      LEVIN_OPTION(mask_suffix, "", "What a mask's name has behind that of its image, such as _mask");
  std::vector<std::string> classes =
      LEVIN_OPTION(classes, {}, "Names of the classes, in the order of their numbers; empty: they have none");
  std::optional<int64_t> ignore_index = LEVIN_OPTION(
      ignore_index, {}, "Class of the pixels that do not count, such as 255; unset: all count", {.min = 0});
  std::vector<std::string> mask_colors = LEVIN_OPTION(
      mask_colors, {},
      "Colours of the classes in masks of colours, in the order of their numbers: [\"#000000\", \"#ff0000\"]; empty: "
      "masks hold the numbers");
  Choice<ImageResize> resize =
      LEVIN_OPTION(resize, ImageResize::Exact,
                   "Resize both sides to exactly image_size, or so that image_size is covered, and take the middle",
                   {.choices = {"exact", "center_crop"}});
  ImageInputOptions input = {};  // its options are flattened into this struct
  double val_fraction = LEVIN_OPTION(val_fraction, 0.1, "Part of the training images for validation, without val",
                                     {.min = 0, .exclusive_max = 1});
  int64_t split_seed = LEVIN_OPTION(split_seed, 0, "Which images val_fraction draws");
  std::string predict_root =
      LEVIN_OPTION(predict_root, "", "Folder of images without masks, for predict; empty: those of test");
  LEVIN_LOADER_OPTIONS(8, true);
};

/// Images, and masks that say the class of each pixel: root/images/x.jpg and root/masks/x.png, split by val_fraction;
/// or root/train/images, root/train/masks, root/val/...; or root/images/train, root/masks/train and so on.
///
/// Inputs are float32 [samples, channels, height, width], `((x / 255) - mean) / std`; targets int64 [samples, height,
/// width], the classes, and kIgnoredTarget (-100), which losses leave out, where the class is ignore_index or a
/// transform has moved the mask away. A mask is resized and moved as its image, to the nearest pixel. Test batches come
/// from root/test, if it exists. Throws levin::UsageError that names the folder or the file: see find_mask_pairs and
/// ImageListDataset.
class Segmentation : public DatasetModule {
 public:
  using Options = SegmentationOptions;
  explicit Segmentation(Options options = {});

  State learned_state() override;
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override { return inputs_.raw_input(); }

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  DatasetPtr images(ImageList list, bool training) const;
  /// Returns the training or the validation part of the training images.
  DatasetPtr training_part(bool training);

  Options options_;
  MaskFolders folders_;
  ImageInputs inputs_;
  TransformPtr transform_;
};

}  // namespace levin::data
