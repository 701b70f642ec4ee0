#pragma once
#include <levin/core/options/option.h>
#include <levin/data/datasets/image_folder.h>
#include <levin/data/datasets/readers/image_folder_dataset.h>
#include <levin/data/transforms/interpolation.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/registry.h>

#include <string>
#include <vector>

namespace levin::data {

/// How image files become the inputs of a module. As a member without LEVIN_OPTION these options appear beside those of
/// the data module.
struct ImageInputOptions {
  OneOrMore<int64_t> image_size = LEVIN_OPTION(
      image_size, {224}, "Pixels of the images: a square, or [height, width]; []: each as it is", {.min = 1});
  Choice<Interpolation> interpolation = LEVIN_OPTION(interpolation, Interpolation::Bilinear,
                                                     "How pixels between pixels are found, where images are resized");
  int64_t channels =
      LEVIN_OPTION(channels, 3, "Channels of the images: 3, or 1 for their luminance", {.min = 1, .max = 3});
  bool keep_16_bits = LEVIN_OPTION(
      keep_16_bits, false,
      "Images of 16 bits keep them, and all become numbers from 0 to 1; otherwise their upper 8 bits count");
  Choice<TrainResize> train_resize =
      LEVIN_OPTION(train_resize, TrainResize::Same, "Training images: resized as the others, or by `transforms` alone");
  std::vector<ClassChoice<TransformKind>> transforms =
      LEVIN_OPTION(transforms, {}, "Changes to training images before they are normalised; masks move with them");
  OneOrMore<double> mean =
      LEVIN_OPTION(mean, {0.485, 0.456, 0.406}, "Mean of red, green and blue, or of all; ImageNet's");
  OneOrMore<double> std = LEVIN_OPTION(std, {0.229, 0.224, 0.225},
                                       "Standard deviation of red, green and blue, or of all", {.exclusive_min = 0});
  Choice<ImageErrors> on_error =
      LEVIN_OPTION(on_error, ImageErrors::Raise, "Images that cannot be read: end with an error, or leave out");
};

}  // namespace levin::data
