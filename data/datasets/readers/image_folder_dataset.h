#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/data/dataset.h>
#include <levin/data/datasets/readers/image_files.h>
#include <levin/data/transforms/interpolation.h>
#include <levin/data/transforms/one_or_more.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace levin {
namespace data {

/// How images become square: the middle of the resized image, both sides resized, or the middle of that.
enum class ImageResize : uint8_t { CenterCrop, Exact, ExactCrop };
/// What becomes of images that cannot be read.
enum class ImageErrors : uint8_t { Raise, Skip };

}  // namespace data

template <>
inline constexpr auto kWords<data::ImageResize> =
    words_of<data::ImageResize>({{"center_crop", data::ImageResize::CenterCrop},
                                 {"exact", data::ImageResize::Exact},
                                 {"exact_crop", data::ImageResize::ExactCrop}});
template <>
inline constexpr auto kWords<data::ImageErrors> =
    words_of<data::ImageErrors>({{"raise", data::ImageErrors::Raise}, {"skip", data::ImageErrors::Skip}});

namespace data {

struct ImageFolderDatasetOptions {
  int64_t image_size = LEVIN_OPTION(image_size, 0, "Side of the square images; 0: each as it is", {.min = 0});
  Choice<ImageResize> resize =
      LEVIN_OPTION(resize, ImageResize::CenterCrop,
                   "Resize the shorter side and take the middle, both sides to exactly image_size, or both to "
                   "resize_size and take the middle");
  int64_t resize_size = LEVIN_OPTION(resize_size, 0, "Side before the middle is taken; 0: image_size", {.min = 0});
  Choice<Interpolation> interpolation = LEVIN_OPTION(interpolation, Interpolation::Bilinear,
                                                     "How pixels between pixels are found, where images are resized");
  bool scaled_decode = LEVIN_OPTION(scaled_decode, false,
                                    "Decode large JPEGs at 1/2, 1/4 or 1/8 of their size where that is enough: faster, "
                                    "with slightly other pixels");
  Choice<ImageErrors> on_error =
      LEVIN_OPTION(on_error, ImageErrors::Raise, "Images that cannot be read: end with an error, or leave out");
  /// One value per channel, or one for all, for `((x / 255) - mean) / std`; if empty, images stay uint8. Images that a
  /// transform made floating point are normalised as from 0 to 1.
  OneOrMore<double> mean = {}, std = {};
  /// Changes each image [1, 3, height, width] alone, before it is normalised; the images may still have different
  /// sizes.
  TransformPtr transform = {};
};

/// Images from a folder with one subfolder per class, in the order of find_image_files.
///
/// `input` is uint8 [samples, 3, height, width], or float32 if mean and std are given; `target` int64 [samples]. An
/// image that cannot be read throws levin::UsageError that names the file; with `on_error` "skip" it is left out of its
/// batch, and a batch without any readable image throws. Source: torchvision's ImageFolder, Resize and CenterCrop;
/// with antialiasing.
class ImageFolderDataset final : public Dataset {
 public:
  using Options = ImageFolderDatasetOptions;
  /// Throws levin::UsageError as find_image_files, and for invalid options.
  explicit ImageFolderDataset(const std::filesystem::path& root, Options options = {});
  explicit ImageFolderDataset(std::shared_ptr<const ImageFiles> files, Options options = {});

  int64_t size() const override { return static_cast<int64_t>(files_->items.size()); }
  /// Also throws with `on_error` "skip" if the image cannot be read.
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return files_->classes; }

  const ImageFiles& files() const { return *files_; }
  /// Returns the number of images left out so far; an image counts each time. The first one also logs a warning.
  int64_t skipped() const;

 private:
  struct Skips;

  const std::string& path(int64_t index) const { return files_->items[static_cast<size_t>(index)].path; }
  at::Tensor read(int64_t index) const;
  at::Tensor prepared(at::Tensor image, Rng& rng) const;
  /// Undefined if the image is left out; `first_cause` keeps the first reason.
  at::Tensor read_or_skip(int64_t index, std::string& first_cause) const;
  void check_alike(int64_t index, const at::Tensor& image, const at::Tensor& others) const;
  at::ScalarType dtype_of(const at::Tensor& image) const;
  void write(const at::Tensor& image, at::Tensor slot) const;

  std::shared_ptr<const ImageFiles> files_;
  Options options_;
  std::vector<float> table_ = {};  // the normalised value of each byte, channel by channel
  std::shared_ptr<Skips> skips_;   // shared by copies
};

}  // namespace data
}  // namespace levin
