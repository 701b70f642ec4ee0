#pragma once
#include <levin/data/datasets/readers/image_list.h>

#include <filesystem>
#include <string>

namespace levin::data {

/// Where images and masks are: `root`/`images` and `root`/`masks`, or both folders with a subfolder for each part, or
/// `root` with a folder for each part that has both.
struct MaskFolders {
  std::filesystem::path root = {};
  std::string images = "images", masks = "masks";  ///< names of folders
  std::string suffix = {};                         ///< what a mask's name has behind that of its image

  /// Returns whether there are parts: train, and where they exist val and test.
  bool is_divided() const;
  /// Returns whether the part ("train", "val", "test", "predict") has images.
  bool has(const std::string& part) const;
  /// Returns the folder of a part's images, or masks; "": where there are no parts.
  std::filesystem::path images_of(const std::string& part) const { return folder_of(images, part); }
  std::filesystem::path masks_of(const std::string& part) const { return folder_of(masks, part); }

 private:
  std::filesystem::path folder_of(const std::string& name, const std::string& part) const;
};

/// Finds the images of a part and the mask of each: the file in the masks' folder that lies in the same subfolder and
/// has the image's name, then the suffix, and any extension. Sorted by the images' paths. Throws levin::UsageError that
/// names the file for an image without a mask or with two, and for folders without images.
ImageList find_mask_pairs(const MaskFolders& folders, const std::string& part);

}  // namespace levin::data
