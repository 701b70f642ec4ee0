#include <levin/data/datasets/segmentation.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_files.h>
#include <levin/data/datasets/readers/image_places.h>
#include <levin/data/datasets/readers/split_images.h>
#include <levin/data/download/cache_folder.h>
#include <levin/data/remote/local_path.h>

#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

ImageInputs segmentation_inputs(const SegmentationOptions& options) {
  ImageInputs inputs = ImageInputs::of(options.input, options.resize);
  const auto named = static_cast<int64_t>(options.classes.size());
  const auto coloured = static_cast<int64_t>(options.mask_colors.size());
  if (named > 0 && coloured > 0 && named != coloured)
    throw UsageError("data.mask_colors: has ", coloured, " colours, and data.classes has ", named, " names");
  inputs.masks = {.colours = parse_colours(options.mask_colors, "data.mask_colors"), .ignored = options.ignore_index};
  if (named > 0) inputs.masks.classes = named;
  return inputs;
}

fs::path root_of(const std::string& given) {
  if (given.empty()) throw UsageError("data.root: not set; it names the folder with the images and masks");
  const fs::path place = image_place(given);
  std::error_code ignored;
  return is_on_server(place) || fs::exists(place, ignored) ? place : cache_folder() / place;
}

}  // namespace

Segmentation::Segmentation(Options options)
    : DatasetModule("Segmentation", loader_options(options)),
      options_(std::move(options)),
      inputs_(segmentation_inputs(options_)),
      transform_(make_transforms(options_.input.transforms, "data.transforms")) {
  schema_of<Options>().check(&options_, "data");
  if (!inputs_.mean.empty())
    refuse_normalizing(options_.input.transforms, "data.transforms", "Segmentation",
                       "; data.mean and data.std say how");
  folders_ = {.root = root_of(options_.root),
              .images = options_.images,
              .masks = options_.masks,
              .suffix = options_.mask_suffix};
}

State Segmentation::learned_state() {
  return LearnedImages{.class_names = options_.classes, .mean = inputs_.mean, .stddev = inputs_.stddev}.state_dict();
}

void Segmentation::load_learned_state(const State& state) {
  LearnedImages learned = LearnedImages::of(state);
  options_.classes = std::move(learned.class_names);
  inputs_.mean = std::move(learned.mean);
  inputs_.stddev = std::move(learned.stddev);
}

DatasetPtr Segmentation::images(ImageList list, bool training) const {
  list.classes = options_.classes;
  ImageInputs inputs = inputs_;
  if (training && options_.input.train_resize == TrainResize::None) inputs.shape = {};
  return std::make_shared<const ImageListDataset>(std::make_shared<const ImageList>(std::move(list)), std::move(inputs),
                                                  training ? transform_ : nullptr);
}

DatasetPtr Segmentation::training_part(bool training) {
  const bool is_divided = folders_.is_divided(), has_val = folders_.has("val");
  if (!training && has_val) return images(find_mask_pairs(folders_, "val"), false);
  DatasetPtr all = images(find_mask_pairs(folders_, is_divided ? "train" : ""), training);
  return has_val ? all : split_images(all, options_.val_fraction, options_.split_seed, training);
}

DatasetPtr Segmentation::make_dataset(Split split) {
  const auto unmasked = [&](const fs::path& folder) { return images({.paths = find_images(folder)}, false); };
  switch (split) {
    case Split::Train:
    case Split::Val:
      return training_part(split == Split::Train);
    case Split::Test:
      return folders_.has("test") ? images(find_mask_pairs(folders_, "test"), false) : nullptr;
    case Split::Predict:
      break;
  }
  if (!options_.predict_root.empty()) return unmasked(image_place(options_.predict_root));
  for (const char* part : {"predict", "test"})
    if (folders_.has(part)) return unmasked(folders_.images_of(part));
  return nullptr;
}

}  // namespace levin::data
