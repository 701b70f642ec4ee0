#include <levin/program/guess/common.h>
#include <levin/data/files/missing_library.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace levin::cli {
namespace {

constexpr size_t kMostListed = 12;
constexpr int64_t kLeastToDivide = 5;
constexpr double kValFraction = 0.2;
constexpr int64_t kSmallestConvolved = 14;  // lenet's least side
constexpr int64_t kStepOfSide = 32;
constexpr int64_t kLargestLenet = 32, kLargestSmallInput = 48, kLargestKept = 64;

}  // namespace

bool lacks_library(const UsageError& error) { return dynamic_cast<const data::MissingLibrary*>(&error) != nullptr; }

Fault fault_of(const UsageError& error, const std::string& advice) {
  return {error.what(), lacks_library(error) ? "" : advice};
}

std::vector<std::string> words_of_name(const std::filesystem::path& file) {
  std::vector<std::string> words = {""};
  const std::string name = file.filename().string();
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0)
      words.back() += static_cast<char>(std::tolower(letter));
    else if (!words.back().empty())
      words.emplace_back();
  }
  return words;
}

std::string extension_of(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  std::string extension = file.extension().string();
  for (const char* packed : {".tar.gz", ".jsonl.gz"})
    if (name.ends_with(packed)) extension = packed;
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

Part part_of(const std::filesystem::path& file) {
  for (const std::string& word : words_of_name(file)) {
    if (word == "train") return Part::Train;
    if (word == "val" || word == "valid" || word == "validation" || word == "dev") return Part::Val;
    if (word == "test") return Part::Test;
  }
  return Part::Train;
}

std::string listed(const std::vector<std::string>& texts) {
  std::string all;
  for (size_t i = 0; i < std::min(texts.size(), kMostListed); ++i) all += (i ? ", " : "") + texts[i];
  if (texts.size() > kMostListed) all += " and " + std::to_string(texts.size() - kMostListed) + " more";
  return all;
}

std::string listed(const std::vector<std::pair<std::string, int64_t>>& counts) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : counts) texts.push_back(name + " " + std::to_string(count));
  return listed(texts);
}

std::vector<size_t> spread(size_t count, size_t most) {
  std::vector<size_t> indices;
  const size_t taken = std::min(count, most);
  for (size_t i = 0; i < taken; ++i) indices.push_back(i * count / taken);
  return indices;
}

std::vector<size_t> to_look_at(size_t count, const GuessOptions& options) {
  return spread(count, options.all ? count : static_cast<size_t>(kMostLooks));
}

int64_t common_side(std::vector<int64_t> shorter_sides) {
  std::ranges::sort(shorter_sides);
  const int64_t least = shorter_sides.front(), middle = shorter_sides[shorter_sides.size() / 2];
  if (least == shorter_sides.back() && least <= kLargestKept) return least;
  return std::clamp(middle / kStepOfSide * kStepOfSide, kStepOfSide, kMostSide);
}

void set_training(CommentedConfig& config, const std::string& name, int64_t epochs) {
  config.set("", "seed", 1);
  config.set("", "name", name);
  config.set("trainer", "max_epochs", epochs, "more if val_loss still falls at the end, fewer if it rises");
}

void set_best_checkpoint(CommentedConfig& config) {
  config.set("trainer", "callbacks",
             Json::array({Json{{"class", "ModelCheckpoint"}, {"monitor", "val_loss"}, {"save_last", true}}}),
             "the best weights are kept beside the last: test and predict with --ckpt-path best");
}

void set_val_fraction(CommentedConfig& config, int64_t samples) {
  if (samples >= kLeastToDivide) set_best_checkpoint(config);
  if (samples >= kLeastToDivide)
    config.set("data", "val_fraction", kValFraction, "this part is drawn for validation, and not trained on");
  else
    config.set("data", "val_fraction", 0, "too few samples to keep some for validation");
}

void set_optimizer(CommentedConfig& config) {
  config.set("model", "optimizer", Json{{"class", "AdamW"}, {"lr", 0.001}});
}

std::string set_image_model(CommentedConfig& config, const std::vector<int64_t>& shape, int64_t classes) {
  const int64_t least = std::min(shape[1], shape[2]);
  const bool is_image = shape[0] == 1 || shape[0] == 3;
  const std::string net = !is_image || least < kSmallestConvolved ? "mlp"
                          : least <= kLargestLenet                ? "lenet"
                                                                  : "resnet18";
  config.set("model", "class", "ImageClassifier");
  config.set("model", "net", net, net == "lenet" ? "resnet18 learns more, and takes longer" : "");
  config.set("model", "num_classes", classes);
  config.set("model", "image_shape", shape);
  if (net == "resnet18" && least <= kLargestSmallInput) config.set("model", "small_input", true);
  set_optimizer(config);
  return net;
}

}  // namespace levin::cli
