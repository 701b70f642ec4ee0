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

/// Finds `root`/CLASS/**/*.jpg, .jpeg, .png, .tif, .tiff and .webp, in upper or lower case. Classes are sorted by name,
/// the files of each class by path.
///
/// The folder may be one of a bucket, whose files then are URLs; see objects_below. Names that start with a dot are
/// skipped; symbolic links are followed. `classes`, if given, sets the list of classes, some of which may have no
/// folder. Throws levin::UsageError that names the folder if it is missing or not readable, has no classes, is a class
/// without images, or is a class that is not in `classes`.
ImageFiles find_image_files(const std::filesystem::path& root, std::vector<std::string> classes = {});

/// Finds all such files below `root`, in any folder, sorted by path. Throws levin::UsageError that names the folder if
/// it is missing, not readable, or without images.
std::vector<std::string> find_images(const std::filesystem::path& root);
/// Returns them with the target -1; `classes` is kept as given. Throws as find_images.
ImageFiles find_unlabelled_images(const std::filesystem::path& root, std::vector<std::string> classes = {});

/// Returns whether `root` holds parts, train/CLASS/..., val/CLASS/... and so on, in place of classes: it has train
/// beside val, test or predict, or has only folders with these names. Throws levin::UsageError as `subfolders`.
bool has_image_parts(const std::filesystem::path& root);

/// Returns the names of the folders in `folder`, sorted, without those that start with a dot. Throws levin::UsageError.
std::vector<std::string> subfolders(const std::filesystem::path& folder);

}  // namespace levin::data
