#include <levin/modules/transformers/pretrained_tensors.h>
#include <levin/core/state/json_file.h>
#include <levin/core/state/safetensors.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/remote/local_path.h>
#include <levin/modules/transformers/config_fields.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

namespace levin::nn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kWholeFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

PretrainedTensors tensors_of_file(const fs::path& file) {
  PretrainedTensors tensors;
  const State state = load_safetensors(file);
  for (const auto& [name, value] : state.to_dict()) tensors[to_text(name)] = value.to_tensor();
  return tensors;
}

/// A file beside the index, not one elsewhere on the machine.
bool is_plain_name(const std::string& name) {
  return name.ends_with(".safetensors") && name.find_first_of("/\\") == std::string::npos && !name.starts_with(".");
}

std::map<std::string, std::string> weight_map_of(const fs::path& index) {
  const nlohmann::ordered_json json = read_json_file(index);
  ConfigFields fields(json, index.string() + ": ");
  const nlohmann::ordered_json* const found = fields.find("weight_map");
  if (found == nullptr || !found->is_object()) fields.fail("weight_map", "an object of tensors and files was expected");
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : found->items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>()))
      fields.fail("weight_map", tensor, ": the name of a .safetensors file in the same folder was expected");
    files[tensor] = file.get<std::string>();
  }
  return files;
}

void check_shards_exist(const fs::path& folder, const std::map<std::string, std::string>& weight_map) {
  std::set<std::string> missing;
  for (const auto& [tensor, file] : weight_map)
    if (!fs::exists(folder / file)) missing.insert(file);
  if (missing.empty()) return;
  const std::string names = joined(missing);
  throw UsageError((folder / kIndexFile).string(), ": names ", missing.size(), " files that are not there: ", names,
                   "; copy the whole folder");
}

PretrainedTensors tensors_of_index(const fs::path& folder) {
  const std::map<std::string, std::string> weight_map = weight_map_of(folder / kIndexFile);
  check_shards_exist(folder, weight_map);
  std::map<std::string, PretrainedTensors> shards;
  PretrainedTensors tensors;
  for (const auto& [tensor, file] : weight_map) {
    if (!shards.contains(file)) shards[file] = tensors_of_file(folder / file);
    const auto found = shards[file].find(tensor);
    if (found == shards[file].end())
      throw UsageError((folder / kIndexFile).string(), ": says that ", tensor, " is in ", file,
                       ", which does not have it");
    tensors[tensor] = found->second;
  }
  return tensors;
}

}  // namespace

fs::path open_model_folder(const std::string& folder, const std::string& option) {
  fs::path local = local_folder(folder);
  if (folder.empty() || !fs::is_directory(local))
    throw UsageError(option, ": ", folder.empty() ? "is not set" : "no folder " + folder,
                     "; name one with config.json and *.safetensors");
  return local;
}

PretrainedTensors read_pretrained_tensors(const fs::path& folder) {
  if (fs::exists(folder / kWholeFile)) return tensors_of_file(folder / kWholeFile);
  if (fs::exists(folder / kIndexFile)) return tensors_of_index(folder);
  const bool has_pickles =
      fs::exists(folder / "pytorch_model.bin") || fs::exists(folder / "pytorch_model.bin.index.json");
  throw UsageError(folder.string(), ": has neither ", kWholeFile, " nor ", kIndexFile,
                   has_pickles ? "; save the model again with safe_serialization=True" : "");
}

PretrainedTensors with_base_name(PretrainedTensors tensors, const DecoderConfig& config) {
  const std::string base = config.parts.base + ".", head = config.parts.head + ".", other_head = "lm_head.";
  const bool has_base = std::ranges::any_of(tensors, [&](const auto& item) { return item.first.starts_with(base); });
  PretrainedTensors named;
  for (auto& [name, tensor] : tensors) {
    const bool is_head = name.starts_with(head);
    if (!is_head && name.starts_with(other_head))
      named[head + name.substr(other_head.size())] = std::move(tensor);
    else
      named[is_head || has_base ? name : base + name] = std::move(tensor);
  }
  return named;
}

}  // namespace levin::nn
