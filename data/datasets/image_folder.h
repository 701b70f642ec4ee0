#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/datasets/readers/image_folder_dataset.h>
#include <levin/data/loader_options.h>
#include <levin/data/transforms/registry.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {
namespace data {

/// How training images are resized before the transforms: as the others, or not at all.
enum class TrainResize : uint8_t { Same, None };

}  // namespace data

template <>
inline constexpr auto kWords<data::TrainResize> =
    words_of<data::TrainResize>({{"same", data::TrainResize::Same}, {"none", data::TrainResize::None}});

namespace data {

struct ImageFolderOptions {
  std::string root =
      LEVIN_OPTION(root, "images", "Folder with a subfolder for each class, or with train, val and test");
  int64_t image_size = LEVIN_OPTION(image_size, 224, "Side of the square images", {.min = 1});
  Choice<ImageResize> resize =
      LEVIN_OPTION(resize, ImageResize::CenterCrop,
                   "Resize the shorter side and take the middle, both sides to exactly image_size, or both to "
                   "resize_size and take the middle");
  int64_t resize_size = LEVIN_OPTION(resize_size, 0, "Side before the middle is taken; 0: image_size", {.min = 0});
  Choice<Interpolation> interpolation = LEVIN_OPTION(interpolation, Interpolation::Bilinear,
                                                     "How pixels between pixels are found, where images are resized");
  std::string preprocessor =
      LEVIN_OPTION(preprocessor, "",
                   "Folder of a pretrained model, of transformers or timm, whose files say image_size, resize, "
                   "resize_size, interpolation, mean and std; empty: the options say it");
  Choice<TrainResize> train_resize =
      LEVIN_OPTION(train_resize, TrainResize::Same, "Training images: resized as the others, or by `transforms` alone");
  std::vector<ClassChoice<TransformKind>> transforms =
      LEVIN_OPTION(transforms, {}, "Changes to training images, uint8, before they are normalised");
  std::vector<ClassChoice<TransformKind>> batch_transforms =
      LEVIN_OPTION(batch_transforms, {}, "Changes to whole training batches after that, such as mixup");
  OneOrMore<double> mean =
      LEVIN_OPTION(mean, {0.485, 0.456, 0.406}, "Mean of red, green and blue, or of all; ImageNet's");
  OneOrMore<double> std = LEVIN_OPTION(std, {0.229, 0.224, 0.225},
                                       "Standard deviation of red, green and blue, or of all", {.exclusive_min = 0});
  double val_fraction = LEVIN_OPTION(val_fraction, 0.1, "Part of the training images for validation, without root/val",
                                     {.min = 0, .exclusive_max = 1});
  int64_t split_seed = LEVIN_OPTION(split_seed, 0, "Which images val_fraction draws");
  bool scaled_decode = LEVIN_OPTION(scaled_decode, false,
                                    "Decode large JPEGs at 1/2, 1/4 or 1/8 of their size where that is enough: faster, "
                                    "with slightly other pixels");
  Choice<ImageErrors> on_error =
      LEVIN_OPTION(on_error, ImageErrors::Raise, "Images that cannot be read: end with an error, or leave out");
  std::string predict_root = LEVIN_OPTION(
      predict_root, "",
      "Images without labels, for predict: a folder, a file, or several with commas between; empty: root/predict, or "
      "root/test, or root itself if it has no subfolders");
  LEVIN_LOADER_OPTIONS(32, true);
};

/// JPEG and PNG images of classes: root/CLASS/..., split by val_fraction, or root/train/CLASS/..., root/val and
/// root/test. The second layout is assumed if root has train beside val, test or predict, or has only folders with
/// these names.
///
/// Inputs are float32 [samples, 3, image_size, image_size], `((x / 255) - mean) / std`; targets int64 [samples],
/// indices into the training classes, sorted by name. Test batches come from root/test, if it exists. Predict batches
/// are the images of `predict_root`, of root/predict, of root/test, or of a root without subfolders; images without
/// labels have the target -1; with on_error "skip" those that cannot be read are left out before, each with a warning.
/// If root does not exist, it is looked for in the cache folder. With `preprocessor` the images are those that
/// AutoImageProcessor of transformers, or timm's transform for evaluation, makes (see ImagePreprocessor); six options
/// then do not count. Throws levin::UsageError that names the folder or the file.
class ImageFolder : public DatasetModule {
 public:
  using Options = ImageFolderOptions;
  explicit ImageFolder(Options options = {});

  State learned_state() override;
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override;

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  using Files = std::shared_ptr<const ImageFiles>;

  const std::filesystem::path& root();
  bool is_divided();
  const Files& train_files();
  DatasetPtr images(Files files, bool training) const;
  /// Returns the images for predict; null if there are none.
  DatasetPtr predict_images();
  /// Returns the names of the training classes, if their folders exist.
  std::vector<std::string> known_classes();
  /// Returns the images in root/`name`; null if there is no such folder.
  DatasetPtr images_in(const char* name);
  /// Returns the training or the validation part of the training images.
  DatasetPtr part(bool training);
  LearnedImages learned(std::vector<std::string> classes) const;

  Options options_;
  TransformPtr transform_, batch_transform_;
  std::optional<std::filesystem::path> root_ = {};
  std::optional<bool> is_divided_ = {};
  Files train_files_ = {};
  std::vector<std::string> loaded_classes_ = {};
};

}  // namespace data
}  // namespace levin
