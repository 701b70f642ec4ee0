#include <ATen/Parallel.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_files.h>
#include <levin/data/files/image_file.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using data::ImageFiles;

constexpr int64_t kUneven = 10;  // times as many images in one class as in another
constexpr int64_t kImageEpochs = 20;

/// What came of reading an image.
struct Look {
  std::string cause = {};  ///< empty: it could be read
  /// If levin lacks the library for its format, the cause without the file's name.
  std::string lacking = {};
  int64_t height = 0, width = 0;
};

std::vector<Look> look_at(const ImageFiles& files, const GuessOptions& options) {
  const std::vector<size_t> which = to_look_at(files.items.size(), options);
  std::vector<Look> looks(which.size());
  at::parallel_for(0, static_cast<int64_t>(which.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      try {
        const at::Tensor image = data::read_image(files.items[which[i]].path);
        looks[i] = {.height = image.size(1), .width = image.size(2)};
      } catch (const UsageError& error) {
        looks[i].cause = error.what();
        if (lacks_library(error)) looks[i].lacking = looks[i].cause.substr(files.items[which[i]].path.size());
      }
    }
  });
  return looks;
}

std::vector<int64_t> shorter_sides(const std::vector<Look>& looks) {
  std::vector<int64_t> shorter;
  for (const Look& look : looks)
    if (look.cause.empty()) shorter.push_back(std::min(look.height, look.width));
  return shorter;
}

std::string size_text(const std::pair<int64_t, int64_t>& size) {
  return std::to_string(size.second) + "x" + std::to_string(size.first);
}

std::string sizes_text(const std::vector<Look>& looks) {
  std::map<std::pair<int64_t, int64_t>, int64_t> sizes;
  for (const Look& look : looks)
    if (look.cause.empty()) ++sizes[{look.height, look.width}];
  const auto most = std::ranges::max_element(sizes, {}, [](const auto& entry) { return entry.second; });
  if (sizes.size() == 1) return "all are " + size_text(most->first) + " pixels (width x height)";
  std::pair<int64_t, int64_t> least = most->first, greatest = most->first;
  for (const auto& [size, count] : sizes) {
    least = {std::min(least.first, size.first), std::min(least.second, size.second)};
    greatest = {std::max(greatest.first, size.first), std::max(greatest.second, size.second)};
  }
  return counted(static_cast<int64_t>(sizes.size()), "size") + ", from " + size_text(least) + " to " +
         size_text(greatest) + " pixels (width x height); most often " + size_text(most->first);
}

/// Looks at the images of one folder of classes.
class ImagesOfPart {
 public:
  ImagesOfPart(Guess& guess, const GuessOptions& options) : guess_(guess), options_(options) {}

  /// Returns whether any image can be read. `classes` are those of the training images; empty for these themselves.
  bool look(const std::string& name, const fs::path& folder, std::vector<std::string> classes) {
    try {
      files = data::find_image_files(folder, std::move(classes));
    } catch (const UsageError& error) {
      guess_.stops.push_back({.what = error.what()});
      return false;
    }
    tell_classes(name);
    looks = look_at(files, options_);
    const auto broken = std::ranges::count_if(looks, [](const Look& look) { return !look.cause.empty(); });
    const bool any = broken < static_cast<int64_t>(looks.size());
    if (any) guess_.seen.push_back("  " + sizes_text(looks));
    if (broken > 0) tell_broken(any);
    has_broken = broken > 0;
    return any;
  }

  ImageFiles files = {};
  std::vector<Look> looks = {};
  bool has_broken = false;

 private:
  void tell_classes(const std::string& name) {
    std::vector<std::pair<std::string, int64_t>> counts;
    for (const std::string& one : files.classes) counts.emplace_back(one, 0);
    for (const ImageFiles::Item& item : files.items) ++counts[static_cast<size_t>(item.target)].second;
    guess_.seen.push_back(
        (name.empty() ? "" : name + ": ") + counted(static_cast<int64_t>(files.items.size()), "image") + " of " +
        std::to_string(counts.size()) + (counts.size() == 1 ? " class: " : " classes: ") + listed(counts));
    const auto [least, most] = std::ranges::minmax_element(counts, {}, [](const auto& count) { return count.second; });
    if (most->second >= kUneven * std::max<int64_t>(1, least->second))
      guess_.seen.push_back("  the classes are uneven: " + most->first + " has " + std::to_string(most->second) + ", " +
                            least->first + " " + std::to_string(least->second) +
                            "; the share of right answers tells little about the small ones");
  }

  /// Tells which images cannot be read. One stands for all that need the same library.
  void tell_broken(bool any) {
    std::vector<Fault>& faults = any ? guess_.broken : guess_.stops;
    const std::string among = looks.size() < files.items.size() ? " of those looked at" : "";
    const std::string left_out = any ? ". Until then the config leaves such images out (\"on_error\": \"skip\")" : "";
    constexpr int64_t kMostTold = 5;
    int64_t damaged = 0;
    std::map<std::string, int64_t> lacking;
    for (const Look& look : looks)
      if (!look.lacking.empty())
        ++lacking[look.lacking];
      else if (!look.cause.empty() && damaged++ < kMostTold)
        faults.push_back({.what = look.cause});
    if (damaged > 0)
      faults.back().advice =
          counted(damaged, "image") + among + " cannot be read; copy or save them again, or remove them" + left_out;
    for (const auto& [why, count] : lacking)
      faults.push_back({std::ranges::find(looks, why, &Look::lacking)->cause,
                        counted(count, "image") + among + " cannot be read" + left_out});
  }

  Guess& guess_;
  const GuessOptions& options_;
};

/// Tells of files below `root` that are no images for levin.
void tell_others(Guess& guess, const fs::path& root) {
  static const std::set<std::string> kOtherImages = {".gif", ".bmp", ".heic", ".avif"};
  std::map<std::string, int64_t> others;
  std::error_code ignored;
  for (fs::recursive_directory_iterator entry(root, ignored), end; entry != end; entry.increment(ignored)) {
    if (ignored) break;
    const std::string extension = extension_of(entry->path());
    if (kOtherImages.contains(extension)) ++others[extension];
  }
  for (const auto& [extension, count] : others)
    guess.broken.push_back(
        {counted(count, extension + " file") + " below " + root.string() + ", left out",
         "levin reads JPEG, PNG, TIFF and WebP; convert them, for example with ImageMagick: mogrify -format png *" +
             extension});
}

}  // namespace

Guess guess_images(const fs::path& root, const GuessOptions& options) {
  Guess guess{.kind = "images, in one folder for each class"};
  const bool has_parts = data::has_image_parts(root);
  if (has_parts) guess.kind += ", in train, val and test";
  const fs::path training = has_parts ? root / "train" : root;
  ImagesOfPart train(guess, options);
  const bool can_train = train.look(has_parts ? "train" : "", training, {});
  const int64_t classes = static_cast<int64_t>(train.files.classes.size());
  if (can_train && classes == 1)
    guess.stops.push_back({training.string() + ": one class alone, " + train.files.classes[0],
                           "put the images of each other class into a folder beside it"});
  bool has_val = false, has_broken = train.has_broken;
  for (const char* part : {"val", "test"}) {
    std::error_code ignored;
    if (!has_parts || !can_train || !fs::is_directory(root / part, ignored)) continue;
    ImagesOfPart other(guess, options);
    other.look(part, root / part, train.files.classes);
    has_broken = has_broken || other.has_broken;
    has_val = has_val || part == std::string("val");
  }
  tell_others(guess, root);
  if (!guess.stops.empty()) return guess;

  const int64_t side = common_side(shorter_sides(train.looks));
  set_training(guess.config, "images", kImageEpochs);
  const std::string net = set_image_model(guess.config, {3, side, side}, classes);
  guess.config.set("data", "class", "ImageFolder");
  guess.config.set("data", "root", root.string());
  guess.config.set("data", "image_size", side,
                   "each image is resized and its middle taken; model.image_shape has the same");
  if (has_val)
    set_best_checkpoint(guess.config);
  else
    set_val_fraction(guess.config, static_cast<int64_t>(train.files.items.size()));
  if (has_broken) guess.config.set("data", "on_error", "skip", "images that cannot be read are left out");
  guess.config.set("data", "batch_size", kGuessedBatch);
  guess.config.set("data", "num_workers", 2);
  guess.config.note("data", "\"transforms\": [\"RandomHorizontalFlip\"] helps where a mirrored image is as good");
  return guess;
}

}  // namespace levin::cli
