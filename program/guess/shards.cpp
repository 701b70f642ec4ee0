#include <ATen/ops/stack.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/tar_decoder.h>
#include <levin/program/guess/array_model.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kShardEpochs = 10;
constexpr size_t kMostSizes = 3;

/// The findings about the samples of tar files.
struct ShardsLook {
  int64_t samples = 0, targets = 0;
  bool is_whole = true;                                 ///< all samples were looked at
  std::map<std::string, int64_t> members = {};          ///< by extension
  std::map<std::vector<int64_t>, int64_t> shapes = {};  ///< of inputs
  std::optional<at::ScalarType> dtype = {};
  bool same_dtype = true;
  at::Tensor first_target = {};
  int64_t least_target = 0, most_target = 0;
};

void take_target(const at::Tensor& target, ShardsLook& look) {
  if (!look.first_target.defined()) look.first_target = target;
  ++look.targets;
  if (target.dim() != 0 || target.is_floating_point()) return;
  const auto value = target.item<int64_t>();
  look.least_target = look.targets == 1 ? value : std::min(look.least_target, value);
  look.most_target = look.targets == 1 ? value : std::max(look.most_target, value);
}

/// Reads the members of all samples, as the first image or array and cls; decodes no more than the options say.
void look_at(const fs::path& shard, const data::TarDecoder& decoder, const GuessOptions& options, ShardsLook& look) {
  const auto file = data::map_file(shard, data::FileAccess::Sequential);
  data::TarShardReader reader(std::make_shared<const std::string>(shard.string()), file);
  while (const auto sample = reader.next()) {
    if (!options.all && look.samples >= kMostLooks) {
      look.is_whole = false;
      return;
    }
    for (const data::TarSample::Member& member : sample->members) ++look.members[member.extension];
    ++look.samples;
    for (const auto& [name, value] : decoder.decode(*sample)) {
      if (name == "target") take_target(value, look);
      if (name != "input") continue;
      ++look.shapes[value.sizes().vec()];
      if (!look.dtype) look.dtype = value.scalar_type();
      look.same_dtype = look.same_dtype && look.dtype == value.scalar_type();
    }
  }
}

std::string shape_of(const std::vector<int64_t>& shape) { return c10::str(at::IntArrayRef(shape)); }

void tell(const Paths& shards, const std::string& part, const ShardsLook& look, Guess& guess) {
  guess.seen.push_back(part + counted(static_cast<int64_t>(shards.size()), "tar file") + ", " +
                       counted(look.samples, "sample") + (look.is_whole ? "" : " looked at, of more"));
  guess.seen.push_back("  members: " +
                       listed(std::vector<std::pair<std::string, int64_t>>(look.members.begin(), look.members.end())));
  std::vector<std::pair<std::string, int64_t>> shapes;
  for (const auto& [shape, count] : look.shapes)
    if (shapes.size() < kMostSizes) shapes.emplace_back(shape_of(shape), count);
  guess.seen.push_back("  inputs: " + listed(shapes) + (look.shapes.size() > kMostSizes ? ", and other shapes" : ""));
}

/// Looks at each shard of a part. Returns those that can be read whole.
Paths whole_shards(const Paths& shards, const data::TarDecoder& decoder, const GuessOptions& options, ShardsLook& look,
                   Guess& guess) {
  Paths whole;
  for (const fs::path& shard : shards) {
    try {
      look_at(shard, decoder, options, look);
      whole.push_back(shard);
    } catch (const UsageError& error) {
      if (lacks_library(error)) {  // which is the same for each of them
        if (guess.stops.empty()) guess.stops.push_back(fault_of(error, ""));
        return {};
      }
      std::vector<Fault>& faults = shards.size() > 1 ? guess.broken : guess.stops;
      faults.push_back({error.what(), "copy or write the file again" +
                                          std::string(shards.size() > 1 ? "; the config leaves this file out" : "")});
    }
  }
  if (whole.empty() && shards.size() > 1) guess.stops.push_back({"no tar file can be read whole", ""});
  return whole;
}

Json names_of(const Paths& shards) {
  Json names = Json::array();
  for (const fs::path& shard : shards) names.push_back(shard.string());
  return names;
}

std::vector<int64_t> shorter_sides(const ShardsLook& look) {
  std::vector<int64_t> sides;
  for (const auto& [shape, count] : look.shapes)
    sides.insert(sides.end(), static_cast<size_t>(count), std::min(shape[1], shape[2]));
  return sides;
}

/// Sets the transforms that make bytes floating point, and images one size. Returns the shape of a sample.
std::vector<int64_t> set_transforms(const ShardsLook& look, bool has_val, Guess& guess) {
  std::vector<int64_t> shape = look.shapes.begin()->first;
  Json transforms = Json::array();
  const bool resizes = look.shapes.size() > 1 || std::min(shape[1], shape[2]) > kMostSide;
  if (resizes) {
    const int64_t side = common_side(shorter_sides(look));
    transforms.push_back(Json{{"class", "Resize"}, {"size", Json::array({side, side})}});
    shape = {shape[0], side, side};
  }
  transforms.push_back("ConvertImage");
  guess.config.set("data", "transforms", transforms,
                   resizes ? "images become one size, and floating point" : "bytes become 0 to 1");
  if (has_val) guess.config.set("data", "val_transforms", transforms);
  return shape;
}

std::optional<ArrayTarget> target_of(const ShardsLook& look, const std::string& name, Guess& guess) {
  if (look.targets < look.samples) {
    guess.stops.push_back(
        {name + ": " + counted(look.samples - look.targets, "sample") + " without a target (cls)",
         "write the class of each sample as a whole number beside it, 7.jpg and 7.cls; or name another extension with "
         "--target"});
    return {};
  }
  if (look.first_target.dim() == 0 && !look.first_target.is_floating_point()) {
    const at::Tensor limits = at::stack(
        {look.first_target.new_full({}, look.least_target), look.first_target.new_full({}, look.most_target)});
    return array_target(limits, name, guess);
  }
  return array_target(look.first_target.unsqueeze(0), name, guess);
}

}  // namespace

Guess guess_shards(const Paths& files, const GuessOptions& options) {
  Guess guess{.kind = "samples in tar files"};
  std::array<Paths, 3> parts;
  for (const fs::path& file : files) parts[static_cast<size_t>(part_of(file))].push_back(file);
  if (parts[0].empty()) parts[0] = files;
  const data::TarDecoder decoder({.target = options.target});
  ShardsLook look;
  Paths train = whole_shards(parts[0], decoder, options, look, guess);
  if (look.samples > 0) tell(parts[0], parts[1].empty() && parts[2].empty() ? "" : "train: ", look, guess);
  Paths val = parts[1], test = parts[2];
  for (Paths* part : {&val, &test}) {
    ShardsLook other;
    if (!part->empty()) *part = whole_shards(*part, decoder, options, other, guess);
    if (other.samples > 0) tell(*part, part == &val ? "val: " : "test: ", other, guess);
  }
  if (guess.stops.empty() && look.samples == 0)
    guess.stops.push_back({files.front().string() + ": no samples: no member is called key.extension",
                           "write the members of a sample beside each other by one key: 7.jpg, 7.cls"});
  if (!guess.stops.empty()) return guess;

  const std::string name = parts[0].front().string();
  const std::optional<ArrayTarget> target = target_of(look, name, guess);
  const bool are_bytes = look.dtype == at::kByte, are_images = look.shapes.begin()->first.size() == 3;
  if (!look.same_dtype || (look.shapes.size() > 1 && !are_images))
    guess.stops.push_back({name + ": the inputs have different shapes or types", "write all alike"});
  else if (look.dtype != at::kFloat && !(are_bytes && are_images))
    guess.stops.push_back({name + ": the inputs are " + std::string(c10::toString(*look.dtype)),
                           "levin's models take float32: write x.astype(\"float32\")"});
  if (!target || !guess.stops.empty()) return guess;

  const bool gives_val = val.empty() && train.size() > 1;
  if (gives_val) {
    val = {train.back()};
    train.pop_back();
  }
  set_training(guess.config, "shards", kShardEpochs);
  guess.config.set("data", "class", "Tar");
  guess.config.set("data", "shards", names_of(train), "patterns will do, such as train-{000..009}.tar");
  if (!val.empty()) {
    set_best_checkpoint(guess.config);
    guess.config.set("data", "val_shards", names_of(val), gives_val ? "the last file is kept for validation" : "");
  }
  if (!test.empty()) guess.config.set("data", "test_shards", names_of(test));
  if (!options.target.empty()) guess.config.set("data", "target", options.target);
  std::vector<int64_t> shape = look.shapes.begin()->first;
  if (are_bytes) shape = set_transforms(look, !val.empty() || !test.empty(), guess);
  guess.config.set("data", "shuffle_buffer", 1000, "samples from which the next one is drawn");
  guess.config.set("data", "batch_size", kGuessedBatch);
  set_array_model(shape, *look.dtype, *target, name, guess);
  return guess;
}

}  // namespace levin::cli
