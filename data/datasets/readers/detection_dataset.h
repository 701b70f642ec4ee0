#pragma once
#include <levin/core/options/choice.h>
#include <levin/data/dataset.h>
#include <levin/data/datasets/readers/coco_annotations.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin {
namespace data {

/// How images become square: the longer side resized, and a border at the right or below; or both sides resized.
enum class DetectionResize : uint8_t { Fit, Exact };

}  // namespace data

template <>
inline constexpr auto kWords<data::DetectionResize> =
    words_of<data::DetectionResize>({{"fit", data::DetectionResize::Fit}, {"exact", data::DetectionResize::Exact}});

namespace data {

struct DetectionDatasetOptions {
  int64_t image_size = 0;  ///< side of the square images
  DetectionResize resize = DetectionResize::Fit;
  std::vector<double> mean = {}, stddev = {};  ///< of the three channels
  double min_box_area = 0;                     ///< smaller boxes are left out after `transform`
  TransformPtr transform = {};  ///< changes uint8 images [1, 3, height, width] and their boxes, before the resize
};

/// Images with the boxes of the objects in them.
///
/// A batch holds `input`, float32 [samples, 3, image_size, image_size], `((x / 255) - mean) / std` with a border of 0;
/// `boxes`, float32 [samples, most, 4]: x1, y1, x2, y2 in pixels of the input; `labels`, int64 [samples, most], and -1
/// in rows without a box; `iscrowd`, bool, and `area`, float32 [samples, most]: the area that the file tells, 0 for
/// none; `scale`, float32 [samples, 2]: pixels of the input for one of the file's image, in x and y; `image_id`, int64
/// [samples]. `most` is the number of objects in the image that has most, and at least 1. An image that cannot be read,
/// or of another size than the annotations tell, throws levin::UsageError that names the file.
class DetectionDataset final : public Dataset {
 public:
  explicit DetectionDataset(std::shared_ptr<const CocoAnnotations> annotations, DetectionDatasetOptions options);

  int64_t size() const override { return static_cast<int64_t>(annotations_->images.size()); }
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return annotations_->class_names; }

  const CocoAnnotations& annotations() const { return *annotations_; }

 private:
  /// Writes one sample into row `row` of a batch.
  void write(int64_t index, Rng& rng, const Batch& batch, int64_t row) const;
  Batch empty_batch(int64_t samples, Batch& reused) const;

  std::shared_ptr<const CocoAnnotations> annotations_;
  DetectionDatasetOptions options_;
  int64_t most_;
};

}  // namespace data
}  // namespace levin
