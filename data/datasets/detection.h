#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/detection_dataset.h>
#include <levin/data/loader_options.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/registry.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin::data {

struct DetectionOptions {
  std::string images = LEVIN_OPTION(images, "images", "Folder of the training images");
  std::string annotations =
      LEVIN_OPTION(annotations, "annotations.json", "COCO's JSON file with the boxes of the training images");
  std::string val_images =
      LEVIN_OPTION(val_images, "", "Folder of the images of val_annotations; empty: that of the training images");
  std::string val_annotations =
      LEVIN_OPTION(val_annotations, "", "Annotations for validation; empty: val_fraction of the training images");
  std::string test_images =
      LEVIN_OPTION(test_images, "", "Folder of the images of test_annotations; empty: that of the training images");
  std::string test_annotations = LEVIN_OPTION(test_annotations, "", "Annotations for test and predict");
  std::string predict_images = LEVIN_OPTION(
      predict_images, "",
      "Images for predict: a folder, a file, or several with commas between; empty: those of test_annotations");
  int64_t image_size = LEVIN_OPTION(image_size, 512, "Side of the square images", {.min = 1, .max = 16384});
  Choice<DetectionResize> resize = LEVIN_OPTION(
      resize, DetectionResize::Fit,
      "Resize the longer side to image_size, with a border at the right or below, or both sides to exactly image_size");
  std::vector<ClassChoice<TransformKind>> transforms =
      LEVIN_OPTION(transforms, {}, "Changes to training images, uint8, and their boxes, before they are resized");
  double min_box_area = LEVIN_OPTION(
      min_box_area, 1, "Boxes of fewer pixels, as transforms leave them, are left out of training", {.min = 0});
  OneOrMore<double> mean =
      LEVIN_OPTION(mean, {0.485, 0.456, 0.406}, "Mean of red, green and blue, or of all; ImageNet's");
  OneOrMore<double> std = LEVIN_OPTION(std, {0.229, 0.224, 0.225},
                                       "Standard deviation of red, green and blue, or of all", {.exclusive_min = 0});
  double val_fraction =
      LEVIN_OPTION(val_fraction, 0.1, "Part of the training images for validation, without val_annotations",
                   {.min = 0, .exclusive_max = 1});
  int64_t split_seed = LEVIN_OPTION(split_seed, 0, "Which images val_fraction draws");
  LEVIN_LOADER_OPTIONS(16, true);
};

/// Images with the boxes of the objects in them, from files of COCO's format for object detection.
///
/// Batches: see DetectionDataset. The classes are the categories of the training annotations, by rising id; other files
/// may have fewer. Boxes move with the images through `transforms`: a box is cut at the edge, and left out if less than
/// one pixel of a side, or less than min_box_area, is left of it. Predict batches have images without boxes, numbered
/// from 1 as `image_id`, or those of test_annotations. Throws levin::UsageError that names the file or the option.
class Detection : public DatasetModule {
 public:
  using Options = DetectionOptions;
  explicit Detection(Options options = {});

  State learned_state() override;
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override;

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  using Annotations = std::shared_ptr<const CocoAnnotations>;

  const Annotations& training();
  /// Returns the names and COCO's ids of the classes: those that were loaded, or those of the training annotations.
  const CocoAnnotations& classes();
  DatasetPtr images_of(Annotations annotations, bool is_training) const;
  DatasetPtr images_of_file(const std::string& file, const std::string& folder);
  /// Returns the training or the validation part of the training images.
  DatasetPtr part(bool is_training);
  DatasetPtr predict_images();

  Options options_;
  TransformPtr transform_;
  Annotations training_ = {};
  CocoAnnotations loaded_ = {};  // classes alone
};

}  // namespace levin::data
