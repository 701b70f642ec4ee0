#include <levin/data/datasets/image_folder.h>
#include <levin/data/download/cache_folder.h>
#include <levin/trainer/core/system/error.h>

#include <algorithm>
#include <array>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace

ImageFolder::ImageFolder(Options options)
    : DatasetModule("ImageFolder", loader_options(options)),
      options_(std::move(options)),
      transform_(make_transforms(options_.transforms, "data.transforms")),
      batch_transform_(make_transforms(options_.batch_transforms, "data.batch_transforms")) {
  schema_of<Options>().check(&options_, "data");
}

const fs::path& ImageFolder::root() {
  if (root_) return *root_;
  const fs::path given = options_.root, in_cache = cache_folder() / given;
  for (const fs::path& folder : {given, in_cache}) {
    std::error_code ignored;
    if (fs::exists(folder, ignored)) return root_.emplace(folder);
  }
  throw UsageError("data.root: no folder ", given.string(), given == in_cache ? "" : ", nor " + in_cache.string(),
                   "; set --data.root to the folder with the images");
}

bool ImageFolder::is_divided() {
  if (is_divided_) return *is_divided_;
  constexpr std::array<const char*, 4> parts = {"train", "val", "test", "predict"};
  const std::vector<std::string> names = subfolders(root());
  const auto has = [&](const char* name) { return std::ranges::count(names, name) > 0; };
  const bool only_parts = !names.empty() && std::ranges::all_of(names, [&](const std::string& name) {
    return std::ranges::find(parts, name) != parts.end();
  });
  return is_divided_.emplace(only_parts || (has("train") && (has("val") || has("test") || has("predict"))));
}

const ImageFolder::Files& ImageFolder::train_files() {
  if (!train_files_) {
    train_files_ = std::make_shared<const ImageFiles>(find_image_files(is_divided() ? root() / "train" : root()));
  }
  return train_files_;
}

DatasetPtr ImageFolder::images(Files files, bool training) const {
  ImageFolderDatasetOptions options{.image_size = options_.image_size,
                                    .resize = options_.resize,
                                    .resize_size = options_.resize_size,
                                    .scaled_decode = options_.scaled_decode,
                                    .on_error = options_.on_error,
                                    .mean = options_.mean,
                                    .std = options_.std};
  if (training) options.transform = transform_;
  if (training && options_.train_resize == "none") options.image_size = options.resize_size = 0;
  return std::make_shared<const ImageFolderDataset>(std::move(files), std::move(options));
}

DatasetPtr ImageFolder::images_in(const char* name) {
  if (!is_divided() || !is_folder(root() / name)) return nullptr;
  std::vector<std::string> classes;
  if (is_folder(root() / "train")) classes = train_files()->classes;
  return images(std::make_shared<const ImageFiles>(find_image_files(root() / name, std::move(classes))), false);
}

std::vector<std::string> ImageFolder::known_classes() {
  const fs::path given = options_.root;
  if (!is_folder(given) && !is_folder(cache_folder() / given)) return {};
  if (!is_divided()) return subfolders(root());
  return is_folder(root() / "train") ? subfolders(root() / "train") : std::vector<std::string>();
}

DatasetPtr ImageFolder::predict_images() {
  const auto unlabelled = [&](const fs::path& folder) {
    return images(std::make_shared<const ImageFiles>(find_unlabelled_images(folder, known_classes())), false);
  };
  if (!options_.predict_root.empty()) {
    if (!is_folder(options_.predict_root))
      throw UsageError("data.predict_root: no folder ", options_.predict_root, "; give the folder with the images");
    return unlabelled(options_.predict_root);
  }
  if (is_folder(root()) && subfolders(root()).empty()) return unlabelled(root());
  if (is_divided() && is_folder(root() / "predict")) return unlabelled(root() / "predict");
  return images_in("test");
}

DatasetPtr ImageFolder::part(bool training) {
  DatasetPtr all = images(train_files(), training);
  const double fraction = options_.val_fraction;
  if (fraction == 0) return training ? all : nullptr;
  std::vector<Subset> parts = random_split(std::move(all), {1 - fraction, fraction}, options_.split_seed);
  Subset& mine = parts[training ? 0 : 1];
  if (mine.size() == 0) {
    throw UsageError("data.val_fraction: ", fraction, " of ", train_files()->items.size(), " images leaves none for ",
                     training ? "training" : "validation; give another fraction, or 0");
  }
  return std::make_shared<const Subset>(std::move(mine));
}

DatasetPtr ImageFolder::make_dataset(Split split) {
  if (split == Split::Predict) return predict_images();
  if (split == Split::Test) return images_in("test");
  const bool has_val = is_divided() && is_folder(root() / "val");
  if (split == Split::Val) return has_val ? images_in("val") : part(false);
  DatasetPtr train = has_val ? images(train_files(), true) : part(true);
  if (!batch_transform_) return train;
  return std::make_shared<const TransformedDataset>(std::move(train), batch_transform_);
}

}  // namespace levin::data
