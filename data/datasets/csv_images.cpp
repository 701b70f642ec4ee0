#include <levin/data/datasets/csv_images.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_preprocessor.h>
#include <levin/data/datasets/readers/split_images.h>

#include <utility>

namespace levin::data {
namespace {

ImageInputs csv_image_inputs(const CsvImagesOptions& options) {
  if (options.preprocessor.empty()) return ImageInputs::of(options.input, options.resize);
  const ImagePreprocessor read = read_image_preprocessor(options.preprocessor, "data.preprocessor");
  ImageInputOptions input = options.input;
  input.mean.values = read.mean;
  input.std.values = read.stddev;
  ImageInputs inputs = ImageInputs::of(input, options.resize);
  inputs.shape = read.shape;
  if (inputs.shape->resized == 0) inputs.shape->resized = read.shape.side;
  return inputs;
}

}  // namespace

CsvImages::CsvImages(Options options)
    : DatasetModule("CsvImages", loader_options(options)),
      options_(std::move(options)),
      inputs_(csv_image_inputs(options_)),
      transform_(make_transforms(options_.input.transforms, "data.transforms")),
      batch_transform_(make_transforms(options_.batch_transforms, "data.batch_transforms")) {
  schema_of<Options>().check(&options_, "data");
  if (options_.file.empty()) throw UsageError("data.file: not set; it names the CSV file that lists the images");
  if (!inputs_.mean.empty())
    refuse_normalizing(options_.input.transforms, "data.transforms", "CsvImages", "; data.mean and data.std say how");
}

CsvImages::List CsvImages::read(const std::string& file, bool has_targets) {
  return std::make_shared<const ImageList>(read_csv_image_list(file, options_.list, has_targets));
}

const CsvImages::List& CsvImages::training_list() {
  if (!training_) training_ = read(options_.file, /*has_targets=*/true);
  return training_;
}

State CsvImages::learned_state() {
  return LearnedImages{.class_names = training_list()->classes, .mean = inputs_.mean, .stddev = inputs_.stddev}
      .state_dict();
}

void CsvImages::load_learned_state(const State& state) {
  LearnedImages learned = LearnedImages::of(state);
  options_.list.classes = std::move(learned.class_names);
  inputs_.mean = std::move(learned.mean);
  inputs_.stddev = std::move(learned.stddev);
  training_ = nullptr;
}

DatasetPtr CsvImages::images(List list, bool training) const {
  ImageInputs inputs = inputs_;
  if (training && options_.input.train_resize == TrainResize::None) inputs.shape = {};
  return std::make_shared<const ImageListDataset>(std::move(list), std::move(inputs), training ? transform_ : nullptr);
}

DatasetPtr CsvImages::make_dataset(Split split) {
  const bool training = split == Split::Train;
  const auto of_file = [&](const std::string& file) {
    if (options_.list.classes.empty()) options_.list.classes = training_list()->classes;
    return images(read(file, /*has_targets=*/split != Split::Predict), false);
  };
  if (split == Split::Test || split == Split::Predict)
    return options_.test_file.empty() ? nullptr : of_file(options_.test_file);
  if (!training && !options_.val_file.empty()) return of_file(options_.val_file);
  DatasetPtr mine = images(training_list(), training);
  if (options_.val_file.empty()) mine = split_images(mine, options_.val_fraction, options_.split_seed, training);
  if (!training || !batch_transform_) return mine;
  return std::make_shared<const TransformedDataset>(mine, batch_transform_);
}

}  // namespace levin::data
