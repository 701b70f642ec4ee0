#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin::data {

/// An object in an image.
struct CocoObject {
  std::array<float, 4> box = {};  ///< x1, y1, x2, y2 in pixels, inside of the image
  int64_t label = 0;              ///< index into the class names
  float area = 0;                 ///< in pixels, of the object's outline; 0: not told
  bool is_crowd = false;          ///< the box is around many objects
};

/// A file of COCO's format for object detection: images, objects and categories.
struct CocoAnnotations {
  struct Image {
    std::string path = {};
    int64_t id = 0;
    int64_t height = 0, width = 0;  ///< as the file tells; 0: not told
    std::vector<CocoObject> objects = {};
  };
  std::vector<Image> images = {};             ///< in the file's order
  std::vector<std::string> class_names = {};  ///< categories by rising id
  std::vector<int64_t> category_ids = {};     ///< of the classes

  /// Returns the number of objects in the image that has most.
  int64_t most_objects() const;
};

/// Reads `file`, whose images lie in `folder`. A box is cut at the edges of its image; boxes of which nothing is left
/// are left out with a warning. `known`, if it has classes, has those of the training data: the file's categories must
/// be among them, and labels are indices into them.
///
/// Throws levin::UsageError that names the file and the place, such as annotations[3].bbox: for a text that is not JSON
/// or not of this format, an id given twice, an unknown image or category, a size or box that is none, and a file name
/// that leads out of the folder. Source: https://cocodataset.org/#format-data
CocoAnnotations read_coco_annotations(const std::filesystem::path& file, const std::filesystem::path& folder,
                                      const CocoAnnotations& known = {});

}  // namespace levin::data
