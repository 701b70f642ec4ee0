#include <levin/data/datasets/detection.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/datasets/readers/image_places.h>

#include <utility>

namespace levin::data {
namespace {

constexpr size_t kColours = 3;

std::vector<double> of_colours(const OneOrMore<double>& values, const char* option) {
  if (values.size() == 1) return std::vector<double>(kColours, values[0]);
  if (values.size() != kColours)
    throw UsageError("data.", option, ": expected 1 number or ", kColours, ", got ", values.size());
  return values.values;
}

/// Returns the images of predict_images, numbered from 1.
CocoAnnotations images_without_boxes(const std::string& text) {
  CocoAnnotations all;
  for (std::string& path : images_named(text, "data.predict_images"))
    all.images.push_back({.path = std::move(path), .id = static_cast<int64_t>(all.images.size()) + 1});
  return all;
}

}  // namespace

Detection::Detection(Options options)
    : DatasetModule("Detection", loader_options(options)),
      options_(std::move(options)),
      transform_(make_transforms(options_.transforms, "data.transforms")) {
  schema_of<Options>().check(&options_, "data");
  refuse_normalizing(options_.transforms, "data.transforms", "Detection", "; data.mean and data.std say how");
  options_.mean.values = of_colours(options_.mean, "mean");
  options_.std.values = of_colours(options_.std, "std");
}

const Detection::Annotations& Detection::training() {
  if (!training_)
    training_ =
        std::make_shared<const CocoAnnotations>(read_coco_annotations(options_.annotations, options_.images, loaded_));
  return training_;
}

const CocoAnnotations& Detection::classes() { return loaded_.class_names.empty() ? *training() : loaded_; }

State Detection::learned_state() {
  const CocoAnnotations& all = classes();
  State state =
      LearnedImages{.class_names = all.class_names, .mean = options_.mean.values, .stddev = options_.std.values}
          .state_dict();
  state["category_ids"] = State::list();
  for (const int64_t id : all.category_ids) state["category_ids"].push_back(id);
  return state;
}

void Detection::load_learned_state(const State& state) {
  LearnedImages learned = LearnedImages::of(state);
  loaded_ = {.class_names = std::move(learned.class_names)};
  for (const State& id : state.at("category_ids").items()) loaded_.category_ids.push_back(id.to_int());
  if (loaded_.category_ids.size() != loaded_.class_names.size())
    throw UsageError("data: the checkpoint has ", loaded_.class_names.size(), " classes with ",
                     loaded_.category_ids.size(), " ids");
  options_.mean.values = std::move(learned.mean);
  options_.std.values = std::move(learned.stddev);
  training_ = nullptr;
}

std::optional<RawInput> Detection::raw_input() {
  return LearnedImages{.class_names = {}, .mean = options_.mean.values, .stddev = options_.std.values}.raw_input(
      static_cast<int64_t>(kColours), options_.image_size, options_.image_size);
}

DatasetPtr Detection::images_of(Annotations annotations, bool is_training) const {
  return std::make_shared<const DetectionDataset>(
      std::move(annotations), DetectionDatasetOptions{.image_size = options_.image_size,
                                                      .resize = options_.resize,
                                                      .mean = options_.mean.values,
                                                      .stddev = options_.std.values,
                                                      .min_box_area = options_.min_box_area,
                                                      .transform = is_training ? transform_ : nullptr});
}

DatasetPtr Detection::images_of_file(const std::string& file, const std::string& folder) {
  if (file.empty()) return nullptr;
  return images_of(std::make_shared<const CocoAnnotations>(
                       read_coco_annotations(file, folder.empty() ? options_.images : folder, classes())),
                   false);
}

DatasetPtr Detection::part(bool is_training) {
  DatasetPtr all = images_of(training(), is_training);
  const double fraction = options_.val_annotations.empty() ? options_.val_fraction : 0;
  if (fraction == 0) return is_training ? all : nullptr;
  std::vector<Subset> parts = random_split(std::move(all), {1 - fraction, fraction}, options_.split_seed);
  Subset& mine = parts[is_training ? 0 : 1];
  if (mine.size() == 0)
    throw UsageError("data.val_fraction: ", fraction, " of ", training()->images.size(), " images leaves none for ",
                     is_training ? "training" : "validation; give another fraction, or 0");
  return std::make_shared<const Subset>(std::move(mine));
}

DatasetPtr Detection::predict_images() {
  if (options_.predict_images.empty()) return images_of_file(options_.test_annotations, options_.test_images);
  CocoAnnotations all = images_without_boxes(options_.predict_images);
  all.class_names = classes().class_names;
  all.category_ids = classes().category_ids;
  return images_of(std::make_shared<const CocoAnnotations>(std::move(all)), false);
}

DatasetPtr Detection::make_dataset(Split split) {
  switch (split) {
    case Split::Train:
      return part(true);
    case Split::Val:
      return options_.val_annotations.empty() ? part(false)
                                              : images_of_file(options_.val_annotations, options_.val_images);
    case Split::Test:
      return images_of_file(options_.test_annotations, options_.test_images);
    case Split::Predict:
      break;
  }
  return predict_images();
}

}  // namespace levin::data
