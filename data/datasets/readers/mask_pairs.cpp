#include <levin/data/datasets/readers/mask_pairs.h>
#include <levin/core/system/counted.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_files.h>
#include <levin/data/datasets/readers/image_places.h>

#include <map>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

/// Returns the path below `folder`, without the extension.
std::string key_of(const fs::path& path, const fs::path& folder) {
  return path.lexically_relative(folder).replace_extension().string();
}

}  // namespace

bool MaskFolders::is_divided() const { return has("train"); }

bool MaskFolders::has(const std::string& part) const {
  is_image_folder(root);  // lists a bucket's folder whole, and not its parts one by one
  return is_image_folder(images_of(part));
}

fs::path MaskFolders::folder_of(const std::string& name, const std::string& part) const {
  if (part.empty()) return root / name;
  const fs::path inner = root / name / part;
  return is_image_folder(inner) ? inner : root / part / name;
}

ImageList find_mask_pairs(const MaskFolders& folders, const std::string& part) {
  const fs::path images = folders.images_of(part), masks = folders.masks_of(part);
  for (const auto& [folder, option] : {std::pair(images, "images"), std::pair(masks, "masks")})
    if (!is_image_folder(folder))
      throw UsageError("data.", option, ": there is no folder ", folder.string(), "; the data are in root/",
                       folders.images, " and root/", folders.masks, ", or the same in root/train and root/val");
  std::map<std::string, std::string> by_key;
  for (std::string& path : find_images(masks)) {
    const auto [place, is_new] = by_key.try_emplace(key_of(path, masks), path);
    if (!is_new)
      throw UsageError(path, ": there is another mask for the same image, ", place->second, "; remove one of them");
  }
  ImageList list;
  for (std::string& path : find_images(images)) {
    const auto found = by_key.find(key_of(path, images) + folders.suffix);
    if (found == by_key.end()) {
      const std::string suffix = folders.suffix.empty() ? "" : ", with " + folders.suffix + " behind it";
      throw UsageError(path, ": this image has no mask in ", masks.string(), ", where a file of its name", suffix,
                       " and any extension was looked for; set data.mask_suffix if masks have longer names");
    }
    list.masks.push_back(found->second);
    list.paths.push_back(std::move(path));
  }
  return list;
}

}  // namespace levin::data
