#pragma once
#include <levin/data/datasets/readers/image_folder_dataset.h>
#include <levin/data/datasets/readers/square_images.h>

#include <filesystem>
#include <string>
#include <vector>

namespace levin::data {

/// How images were prepared for a pretrained network.
struct ImagePreprocessor {
  SquareShape shape = {};
  std::vector<double> mean = {}, stddev = {};  ///< of numbers from 0 to 1; one value, or one for each channel
};

/// Reads `preprocessor_config.json` of transformers (those of ViT, DeiT, ConvNext with ResNet, MobileNetV1 and V2), or
/// `pretrained_cfg` in the config.json of timm. `option` names the option in errors. Throws levin::UsageError that
/// names the file and the field: for images that are not square, for steps and interpolations that levin does not have.
///
/// Pixels of images that are resized differ by at most one level of 255 from those of Pillow before version 13, which
/// also resizes the width first. The middle is that of torchvision, which rounds halves to even.
ImagePreprocessor read_image_preprocessor(const std::filesystem::path& folder, const std::string& option);

}  // namespace levin::data
