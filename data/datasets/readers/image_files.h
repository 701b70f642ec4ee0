#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin::data {

/// The image files under a folder that has one subfolder for each class.
struct ImageFiles {
  struct Item {
    std::string path = {};
    int64_t target = 0;  ///< index into `classes`; -1 without a label
  };
  std::vector<std::string> classes = {};
  std::vector<Item> items = {};
};

/// Finds `root`/CLASS/**/*.jpg, .jpeg and .png, in either case: classes by name, the files of each by path.
///
/// Names that begin with a dot are left out; symbolic links are followed. Where `classes` are given, these count, and
/// some may have no folder. Throws levin::UsageError that names the folder: absent, not readable, without classes, of a
/// class without images, or of a class that is none of `classes`.
ImageFiles find_image_files(const std::filesystem::path& root, std::vector<std::string> classes = {});

/// Finds all such files below `root`, by path, whatever folders they are in. Their target is -1; `classes` are kept.
/// Throws levin::UsageError that names the folder: absent, not readable, or without images.
ImageFiles find_unlabelled_images(const std::filesystem::path& root, std::vector<std::string> classes = {});

/// The names of the folders in `folder`, sorted, without those that begin with a dot. Throws levin::UsageError.
std::vector<std::string> subfolders(const std::filesystem::path& folder);

}  // namespace levin::data
