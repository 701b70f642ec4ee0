#include <levin/data/datasets/image_folder.h>
#include <ATen/Parallel.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_places.h>
#include <levin/data/datasets/readers/image_preprocessor.h>
#include <levin/data/datasets/readers/split_images.h>
#include <levin/data/datasets/readers/square_images.h>
#include <levin/data/download/cache_folder.h>
#include <levin/data/remote/local_path.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

/// Returns the images of predict_root.
ImageFiles images_to_predict(const std::string& text, std::vector<std::string> classes) {
  ImageFiles files{.classes = std::move(classes)};
  for (std::string& path : images_named(text, "data.predict_root")) files.items.push_back({std::move(path), -1});
  return files;
}

/// Removes the images that cannot be read, so that each prediction has its image's name, and tells their names.
void leave_out_unreadable(ImageFiles& files) {
  std::vector<std::string> causes(files.items.size());
  at::parallel_for(0, static_cast<int64_t>(causes.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      try {
        read_placed_image(files.items[at].path);
      } catch (const UsageError& error) {
        causes[at] = error.what();
      }
    }
  });
  std::vector<ImageFiles::Item> readable;
  for (size_t i = 0; i < causes.size(); ++i) {
    if (causes[i].empty())
      readable.push_back(std::move(files.items[i]));
    else
      console::warn(causes[i] + " (left out, as on_error says)");
  }
  if (readable.empty()) throw UsageError("data.predict_root: none of the ", causes.size(), " images can be read");
  files.items = std::move(readable);
}

/// Gives the options the values that a pretrained model's folder has for them.
ImageFolderOptions with_preprocessor(ImageFolderOptions options) {
  if (options.preprocessor.empty()) return options;
  const ImagePreprocessor read = read_image_preprocessor(options.preprocessor, "data.preprocessor");
  options.image_size = read.shape.side;
  options.resize = read.shape.resize;
  options.resize_size = read.shape.resized;
  options.interpolation = read.shape.interpolation;
  options.mean.values = read.mean;
  options.std.values = read.stddev;
  return options;
}

}  // namespace

ImageFolder::ImageFolder(Options options)
    : DatasetModule("ImageFolder", loader_options(options)),
      options_(with_preprocessor(std::move(options))),
      transform_(make_transforms(options_.transforms, "data.transforms")),
      batch_transform_(make_transforms(options_.batch_transforms, "data.batch_transforms")) {
  schema_of<Options>().check(&options_, "data");
  if (!options_.mean.empty())
    refuse_normalizing(options_.transforms, "data.transforms", "ImageFolder", "; data.mean and data.std say how");
}

LearnedImages ImageFolder::learned(std::vector<std::string> classes) const {
  return {.class_names = std::move(classes), .mean = options_.mean.values, .stddev = options_.std.values};
}

State ImageFolder::learned_state() {
  std::vector<std::string> classes = train_files_ ? train_files_->classes : known_classes();
  if (classes.empty()) throw UsageError("data.root: there are no training images, whose folders name the classes");
  return learned(std::move(classes)).state_dict();
}

void ImageFolder::load_learned_state(const State& state) {
  LearnedImages learned = LearnedImages::of(state);
  loaded_classes_ = std::move(learned.class_names);
  options_.mean.values = std::move(learned.mean);
  options_.std.values = std::move(learned.stddev);
  train_files_ = nullptr;
}

std::optional<RawInput> ImageFolder::raw_input() {
  RawInput raw = learned({}).raw_input(3, options_.image_size, options_.image_size);
  const SquareShape shape = {.resize = options_.resize,
                             .side = options_.image_size,
                             .resized = options_.resize_size == 0 ? options_.image_size : options_.resize_size,
                             .interpolation = options_.interpolation};
  raw.prepare = [normalize = std::move(raw.prepare), shape](const Batch& images) {
    Batch squares = images;
    squares.set("input", square_images(images.input(), shape));
    return normalize(squares);
  };
  return raw;
}

const fs::path& ImageFolder::root() {
  if (root_) return *root_;
  const fs::path given = image_place(options_.root), in_cache = is_on_server(given) ? given : cache_folder() / given;
  for (const fs::path& folder : {given, in_cache})
    if (image_place_exists(folder)) return root_.emplace(folder);
  throw UsageError("data.root: no folder ", given.string(), given == in_cache ? "" : ", nor " + in_cache.string(),
                   "; set --data.root to the folder with the images");
}

bool ImageFolder::is_divided() {
  if (!is_divided_) is_divided_ = has_image_parts(root());
  return *is_divided_;
}

const ImageFolder::Files& ImageFolder::train_files() {
  if (!train_files_) {
    train_files_ =
        std::make_shared<const ImageFiles>(find_image_files(is_divided() ? root() / "train" : root(), loaded_classes_));
  }
  return train_files_;
}

DatasetPtr ImageFolder::images(Files files, bool training) const {
  ImageFolderDatasetOptions options{.image_size = options_.image_size,
                                    .resize = options_.resize,
                                    .resize_size = options_.resize_size,
                                    .interpolation = options_.interpolation,
                                    .scaled_decode = options_.scaled_decode,
                                    .on_error = options_.on_error,
                                    .mean = options_.mean,
                                    .std = options_.std};
  if (training) options.transform = transform_;
  if (training && options_.train_resize == TrainResize::None) options.image_size = options.resize_size = 0;
  return std::make_shared<const ImageFolderDataset>(std::move(files), std::move(options));
}

DatasetPtr ImageFolder::images_in(const char* name) {
  if (!is_divided() || !is_image_folder(root() / name)) return nullptr;
  std::vector<std::string> classes = loaded_classes_;
  if (classes.empty() && is_image_folder(root() / "train")) classes = train_files()->classes;
  return images(std::make_shared<const ImageFiles>(find_image_files(root() / name, std::move(classes))), false);
}

std::vector<std::string> ImageFolder::known_classes() {
  if (!loaded_classes_.empty()) return loaded_classes_;
  const fs::path given = image_place(options_.root);
  if (!is_image_folder(given) && (is_on_server(given) || !is_image_folder(cache_folder() / given))) return {};
  if (!is_divided()) return subfolders(root());
  return is_image_folder(root() / "train") ? subfolders(root() / "train") : std::vector<std::string>();
}

DatasetPtr ImageFolder::predict_images() {
  const auto made = [&](ImageFiles files) {
    if (options_.on_error == ImageErrors::Skip) leave_out_unreadable(files);
    return images(std::make_shared<const ImageFiles>(std::move(files)), false);
  };
  const auto unlabelled = [&](const fs::path& folder) { return made(find_unlabelled_images(folder, known_classes())); };
  if (!options_.predict_root.empty()) return made(images_to_predict(options_.predict_root, known_classes()));
  if (is_image_folder(root()) && subfolders(root()).empty()) return unlabelled(root());
  if (is_divided() && is_image_folder(root() / "predict")) return unlabelled(root() / "predict");
  return images_in("test");
}

DatasetPtr ImageFolder::part(bool training) {
  return split_images(images(train_files(), training), options_.val_fraction, options_.split_seed, training);
}

DatasetPtr ImageFolder::make_dataset(Split split) {
  if (split == Split::Predict) return predict_images();
  if (split == Split::Test) return images_in("test");
  const bool has_val = is_divided() && is_image_folder(root() / "val");
  if (split == Split::Val) return has_val ? images_in("val") : part(false);
  DatasetPtr train = has_val ? images(train_files(), true) : part(true);
  if (!batch_transform_) return train;
  return std::make_shared<const TransformedDataset>(std::move(train), batch_transform_);
}

}  // namespace levin::data
