#pragma once
#include <levin/data/data_module.h>
#include <levin/data/dataset.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/datasets/readers/class_mask.h>
#include <levin/data/datasets/readers/image_input_options.h>
#include <levin/data/datasets/readers/image_list.h>
#include <levin/data/datasets/readers/square_images.h>
#include <levin/data/transforms/transform.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

/// How the images of a list become inputs.
struct ImageInputs {
  std::optional<SquareShape> shape = {};  ///< unset: each image as it is
  int64_t channels = 3;
  bool keep_16_bits = false;
  std::vector<double> mean = {}, stddev = {};  ///< of each channel; empty: bytes stay as they are
  ImageErrors on_error = ImageErrors::Raise;
  ClassMaskOptions masks = {};

  /// Throws levin::UsageError for sizes, means and deviations of another number.
  static ImageInputs of(const ImageInputOptions& options, ImageResize resize);
  /// Returns how images of bytes become what a module takes. Throws levin::UsageError if the images have no size.
  RawInput raw_input() const;
};

/// The images of a list, resized, changed and normalised: `input` float32 [samples, channels, height, width], and
/// `target`: the masks int64 [samples, height, width], or rows of the list's targets.
///
/// A mask is resized to the nearest pixel, and the transform moves it with its image. Throws levin::UsageError that
/// names the file: as read_image and read_class_mask, and for a mask of another size than its image.
class ImageListDataset final : public Dataset {
 public:
  /// `transform`, which may be null, changes each image alone, as a batch of one, whose mask is the field `mask`.
  ImageListDataset(std::shared_ptr<const ImageList> list, ImageInputs inputs, TransformPtr transform = nullptr);

  int64_t size() const override { return static_cast<int64_t>(list_->paths.size()); }
  /// Also throws with `on_error` "skip" if the image cannot be read.
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return list_->classes; }

  const ImageList& list() const { return *list_; }
  /// Returns the number of images left out so far; an image counts each time. The first one also logs a warning.
  int64_t skipped() const { return skipped_->load(); }

 private:
  /// Returns input and, where there is one, target, without a sample dimension.
  Batch sample(int64_t index, Rng& rng) const;
  std::optional<Batch> sample_or_skip(int64_t index, Rng& rng, std::string& first_cause) const;
  Batch read(size_t at) const;
  Batch fitted(Batch one) const;
  void change(Batch& one, Rng& rng) const;

  std::shared_ptr<const ImageList> list_;
  ImageInputs inputs_;
  TransformPtr transform_, normalize_ = {};
  std::shared_ptr<std::atomic<int64_t>> skipped_;  // shared by copies
};

}  // namespace levin::data
