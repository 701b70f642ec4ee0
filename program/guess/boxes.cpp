#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/coco_annotations.h>
#include <levin/data/files/image_file.h>
#include <levin/data/files/mapped_file.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using data::CocoAnnotations;

constexpr int64_t kBoxEpochs = 50, kBoxBatch = 16;
constexpr int64_t kStepOfBoxImages = 32, kMostBoxSide = 512;
constexpr double kSmallBox = 24;  ///< pixels of a side, for which the finest level of the network is too coarse

/// A file's annotations, and the folder of their images.
struct BoxPart {
  fs::path file = {}, folder = {};
  CocoAnnotations read = {};
};

/// Returns the part that a name tells, also with a year behind it, as val2017; unset if it tells none.
std::optional<Part> told_part(const fs::path& path) {
  std::string name = path.filename().string();
  std::erase_if(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (const Part part = part_of(name); part != Part::Train) return part;
  return std::ranges::count(words_of_name(name), "train") > 0 ? std::optional(Part::Train) : std::nullopt;
}

Part part_of_boxes(const fs::path& file) { return told_part(file).value_or(Part::Train); }

Paths folders_in(const fs::path& folder) {
  Paths found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

/// Returns the folder in which the first image is: one of the file's part, or else one whose name tells no part.
std::optional<fs::path> folder_of_images(const fs::path& file, const std::string& image) {
  const fs::path beside = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const auto fits = [&](const fs::path& one) {
    return told_part(one).value_or(part_of_boxes(file)) == part_of_boxes(file);
  };
  Paths candidates = {beside};
  for (const fs::path& root : {beside, beside / ".."})
    for (const fs::path& folder : folders_in(root)) {
      if (!fits(folder)) continue;
      candidates.push_back(folder);
      for (const fs::path& inner : folders_in(folder))
        if (fits(inner)) candidates.push_back(inner);
    }
  std::ranges::stable_sort(candidates, {}, [](const fs::path& one) { return !told_part(one); });
  for (const fs::path& folder : candidates) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / image, ignored)) return folder.lexically_normal();
  }
  return {};
}

/// Reads a file; nothing, with a fault, if it or its images cannot be read.
std::optional<BoxPart> read_part(Guess& guess, const fs::path& file, const CocoAnnotations& known) {
  BoxPart part{.file = file};
  try {
    part.read = data::read_coco_annotations(file, "", known);
    const auto folder = folder_of_images(file, part.read.images.front().path);
    if (!folder) {
      guess.stops.push_back(
          {file.string() + ": its first image, " + part.read.images.front().path + ", is in no folder beside the file",
           "put the folder with the images beside the file"});
      return {};
    }
    part.folder = *folder;
  } catch (const UsageError& error) {
    guess.stops.push_back({.what = error.what()});
    return {};
  }
  return part;
}

/// Tells what is in a part, and which of its images cannot be read.
void tell_part(Guess& guess, const BoxPart& part, const GuessOptions& options) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const std::string& name : part.read.class_names) counts.emplace_back(name, 0);
  int64_t boxes = 0, without = 0;
  for (const CocoAnnotations::Image& image : part.read.images) {
    without += image.objects.empty();
    boxes += static_cast<int64_t>(image.objects.size());
    for (const data::CocoObject& object : image.objects) ++counts[static_cast<size_t>(object.label)].second;
  }
  guess.seen.push_back(
      part.file.filename().string() + ": " + counted(static_cast<int64_t>(part.read.images.size()), "image") + " in " +
      part.folder.string() + ", " + std::to_string(boxes) + (boxes == 1 ? " box of " : " boxes of ") +
      std::to_string(counts.size()) + (counts.size() == 1 ? " class: " : " classes: ") + listed(counts));
  if (without > 0) guess.seen.push_back("  " + counted(without, "image") + " without a box");
  if (boxes == 0) guess.stops.push_back({part.file.string() + ": there is no box in it", "give annotations"});
  std::vector<std::string> broken;
  bool lacks = false;  // a library for the first of them
  for (const size_t i : to_look_at(part.read.images.size(), options)) {
    try {
      data::read_image(part.folder / part.read.images[i].path);
    } catch (const UsageError& error) {
      if (broken.empty()) lacks = lacks_library(error);
      broken.push_back(error.what());
    }
  }
  if (!broken.empty())
    guess.stops.push_back(
        {broken.front(), counted(static_cast<int64_t>(broken.size()), "image") + " cannot be read" +
                             (lacks ? "" : "; copy them again, or remove them from " + part.file.string())});
}

int64_t longer_side(const BoxPart& part, const CocoAnnotations::Image& image) {
  if (image.height > 0 && image.width > 0) return std::max(image.height, image.width);
  const at::Tensor pixels = data::read_image(part.folder / image.path);
  return std::max(pixels.size(1), pixels.size(2));
}

template <class Number>
Number median(std::vector<Number> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The side of the square images, and pixels of half of the boxes' shorter sides in them.
struct BoxSizes {
  int64_t side = 0;
  double box = 0;
};

BoxSizes sizes_of(const BoxPart& part) {
  std::vector<int64_t> sides;
  std::vector<double> boxes;
  for (const size_t i : spread(part.read.images.size(), static_cast<size_t>(kMostLooks))) {
    const CocoAnnotations::Image& image = part.read.images[i];
    sides.push_back(longer_side(part, image));
    for (const data::CocoObject& object : image.objects)
      boxes.push_back(std::min(object.box[2] - object.box[0], object.box[3] - object.box[1]) /
                      static_cast<double>(sides.back()));
  }
  const int64_t rounded = (median(sides) + kStepOfBoxImages - 1) / kStepOfBoxImages * kStepOfBoxImages;
  const int64_t side = std::min(rounded, kMostBoxSide);
  return {side, boxes.empty() ? kMostBoxSide : median(boxes) * static_cast<double>(side)};
}

}  // namespace

bool is_coco_file(const fs::path& file) {
  std::error_code ignored;
  if (extension_of(file) != ".json" || !fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) == 0)
    return false;
  const data::MappedFile mapped(file);
  const std::string_view text = mapped.text();
  return std::ranges::all_of(std::array{"\"images\"", "\"annotations\"", "\"categories\""},
                             [&](const char* key) { return text.find(key) != std::string_view::npos; });
}

Paths coco_files(const fs::path& folder) {
  Paths found;
  for (const fs::path& place : {folder, folder / "annotations"}) {
    std::error_code error;
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error))
      if (is_coco_file(entry->path())) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

Guess guess_boxes(const Paths& files, const GuessOptions& options) {
  Guess guess{.kind = "images with boxes, in COCO's format"};
  std::array<std::optional<BoxPart>, 3> parts = {};
  Paths sorted = files;
  std::ranges::stable_sort(sorted, {}, part_of_boxes);
  for (const fs::path& file : sorted) {
    auto& part = parts[static_cast<size_t>(part_of_boxes(file))];
    if (part) {
      guess.broken.push_back({file.string() + ": left out, since " + part->file.string() + " is for the same part",
                              "name the file that is meant"});
      continue;
    }
    part = read_part(guess, file, parts[0] ? parts[0]->read : CocoAnnotations{});
    if (part) tell_part(guess, *part, options);
  }
  const std::optional<BoxPart>& train = parts[0];
  if (!train && guess.stops.empty())
    guess.stops.push_back({files.front().string() + ": there are no annotations for training",
                           "name their file so that it has no val or test in it"});
  if (!guess.stops.empty()) return guess;

  const auto [side, box] = sizes_of(*train);
  set_training(guess.config, "boxes", kBoxEpochs);
  guess.config.set("model", "class", "FCOS");
  guess.config.set("model", "num_classes", static_cast<int64_t>(train->read.class_names.size()));
  if (box < kSmallBox) guess.config.set("model", "first_stride", 4, "half of the boxes are small; 8 is faster");
  set_optimizer(guess.config);
  guess.config.set("data", "class", "Detection");
  guess.config.set("data", "images", train->folder.string());
  guess.config.set("data", "annotations", train->file.string());
  guess.config.set("data", "image_size", side, "the longer side is resized to it, and a border added to the other");
  if (parts[1]) {
    set_best_checkpoint(guess.config);
    guess.config.set("data", "val_images", parts[1]->folder.string());
    guess.config.set("data", "val_annotations", parts[1]->file.string());
  } else {
    set_val_fraction(guess.config, static_cast<int64_t>(train->read.images.size()));
  }
  if (parts[2]) {
    guess.config.set("data", "test_images", parts[2]->folder.string());
    guess.config.set("data", "test_annotations", parts[2]->file.string());
  }
  guess.config.set("data", "transforms", Json::array({"RandomHorizontalFlip"}),
                   "leave it out where a mirrored image is not as good");
  guess.config.set("data", "batch_size", kBoxBatch);
  guess.config.set("data", "num_workers", 2);
  return guess;
}

}  // namespace levin::cli
