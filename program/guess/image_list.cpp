#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/csv_image_list.h>
#include <levin/data/files/csv_file.h>
#include <levin/data/files/image_file.h>
#include <levin/data/files/mapped_file.h>
#include <levin/data/remote/local_path.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using data::CsvImageListOptions;
using data::CsvReader;
using data::ImageList;
using data::ImageTargetType;

constexpr int64_t kListEpochs = 20;
constexpr size_t kLookedRows = 200;

bool names_an_image(std::string_view text) {
  constexpr std::array<const char*, 6> kKinds = {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp"};
  const std::string extension = extension_of(fs::path(std::string(text)));
  return std::ranges::find(kKinds, extension) != kKinds.end();
}

/// What the first rows of a list tell.
struct ListColumns {
  std::string path = {};
  std::vector<std::string> others = {}, binary = {};  ///< those of 0 and 1 alone
};

std::optional<ListColumns> look_at_columns(const fs::path& file) {
  const data::MappedFile content(file);
  CsvReader reader(content.text(), file.string());
  const size_t columns = reader.columns().size();
  std::vector<bool> are_paths(columns, true), are_binary(columns, true);
  size_t rows = 0;
  for (; rows < kLookedRows && reader.next(); ++rows) {
    for (size_t i = 0; i < columns; ++i) {
      are_paths[i] = are_paths[i] && names_an_image(reader[i]);
      are_binary[i] = are_binary[i] && (reader[i] == "0" || reader[i] == "1");
    }
  }
  ListColumns found;
  for (size_t i = 0; i < columns; ++i) {
    const std::string& name = reader.columns()[i];
    if (are_paths[i] && found.path.empty()) {
      found.path = name;
      continue;
    }
    found.others.push_back(name);
    if (are_binary[i]) found.binary.push_back(name);
  }
  if (rows == 0 || found.path.empty() || found.others.empty()) return {};
  return found;
}

/// Returns the column of one class: one with a usual name, or else the first.
std::string class_column(const std::vector<std::string>& names) {
  constexpr std::array<const char*, 5> kUsual = {"label", "class", "target", "category", "y"};
  for (const char* usual : kUsual)
    if (std::ranges::find(names, usual) != names.end()) return usual;
  return names.front();
}

}  // namespace

bool is_image_list(const fs::path& file) {
  try {
    return look_at_columns(file).has_value();
  } catch (const UsageError&) {  // no table, which another reader tells
    return false;
  }
}

Guess guess_image_list(const fs::path& file, const GuessOptions& options) {
  Guess guess{.kind = "a list of images"};
  const ListColumns columns = *look_at_columns(file);
  CsvImageListOptions list{.path = columns.path, .target = {class_column(columns.others)}};
  if (!options.target.empty()) list.target = {options.target};
  if (options.target.empty() && columns.binary.size() > 1) {
    list.target = columns.binary;
    list.target_type = ImageTargetType::Labels;
  }
  std::vector<int64_t> sides;
  ImageList read;
  try {
    read = data::read_csv_image_list(file, list, /*has_targets=*/true);
    for (const size_t i : to_look_at(read.paths.size(), options)) {
      const at::Tensor image = data::read_image(local_path(read.paths[i]));
      sides.push_back(std::min(image.size(1), image.size(2)));
    }
  } catch (const UsageError& error) {
    guess.stops.push_back({.what = error.what()});
    return guess;
  }
  const auto classes = static_cast<int64_t>(read.classes.size());
  const bool has_labels = list.target_type == ImageTargetType::Labels;
  guess.seen.push_back(counted(static_cast<int64_t>(read.paths.size()), "image") + ", " + std::to_string(classes) +
                       (has_labels ? " labels: " : " classes: ") + listed(read.classes));
  if (classes < 2) {
    guess.stops.push_back(
        {file.string() + ": one class alone, " + read.classes.front(), "name the column of the classes: --target"});
    return guess;
  }
  const int64_t side = common_side(sides);
  set_training(guess.config, "images", kListEpochs);
  set_image_model(guess.config, {3, side, side}, classes);
  guess.config.set("data", "class", "CsvImages");
  guess.config.set("data", "file", file.string());
  guess.config.set("data", "path", list.path);
  guess.config.set("data", "target", list.target);
  if (has_labels) {
    guess.config.set("model", "problem_type", "multi_label_classification", "an image has any number of the labels");
    guess.config.set("data", "target_type", "labels");
  }
  guess.config.set("data", "image_size", side,
                   "each image is resized and its middle taken; model.image_shape has the same");
  set_val_fraction(guess.config, static_cast<int64_t>(read.paths.size()));
  guess.config.set("data", "batch_size", kGuessedBatch);
  guess.config.set("data", "num_workers", 2);
  return guess;
}

}  // namespace levin::cli
