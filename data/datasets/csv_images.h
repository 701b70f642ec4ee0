#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/csv_image_list.h>
#include <levin/data/datasets/readers/image_input_options.h>
#include <levin/data/datasets/readers/image_list_dataset.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

struct CsvImagesOptions {
  std::string file = LEVIN_OPTION(file, "", "CSV file with the paths and targets of the training images; required");
  std::string val_file =
      LEVIN_OPTION(val_file, "", "That of the validation images; empty: those that val_fraction draws");
  std::string test_file = LEVIN_OPTION(test_file, "", "That of the images for test and predict; empty: none");
  CsvImageListOptions list = {};  // its options are flattened into this struct
  Choice<ImageResize> resize =
      LEVIN_OPTION(resize, ImageResize::CenterCrop,
                   "Resize so that image_size is covered, and take the middle, or both sides to exactly image_size",
                   {.choices = {"center_crop", "exact"}});
  std::string preprocessor =
      LEVIN_OPTION(preprocessor, "",
                   "Folder of a pretrained model, of transformers or timm, whose files say image_size, resize, "
                   "interpolation, mean and std; empty: the options say it");
  ImageInputOptions input = {};  // its options are flattened into this struct
  std::vector<ClassChoice<TransformKind>> batch_transforms =
      LEVIN_OPTION(batch_transforms, {}, "Changes to whole training batches after that, such as mixup");
  double val_fraction = LEVIN_OPTION(val_fraction, 0.1, "Part of the training images for validation, without val_file",
                                     {.min = 0, .exclusive_max = 1});
  int64_t split_seed = LEVIN_OPTION(split_seed, 0, "Which images val_fraction draws");
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Images that a CSV file lists with their targets: a class, several labels, or numbers.
///
/// Inputs are float32 [samples, channels, height, width], `((x / 255) - mean) / std`; targets as read_csv_image_list
/// makes them. Rows for predict need no targets. Throws levin::UsageError that names the file, the line and the column,
/// or the image.
class CsvImages : public DatasetModule {
 public:
  using Options = CsvImagesOptions;
  explicit CsvImages(Options options = {});

  State learned_state() override;
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override { return inputs_.raw_input(); }

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  using List = std::shared_ptr<const ImageList>;

  const List& training_list();
  List read(const std::string& file, bool has_targets);
  DatasetPtr images(List list, bool training) const;

  Options options_;
  ImageInputs inputs_;
  TransformPtr transform_, batch_transform_;
  List training_ = {};
};

}  // namespace levin::data
