#include <levin/modules/transformers/save_pretrained.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/new_folder.h>
#include <levin/core/state/safetensors.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_member.h>
#include <levin/core/system/json_text.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace levin::nn {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

/// What belongs to a model beside its weights.
constexpr std::array<const char*, 16> kCopiedFiles = {"generation_config.json",
                                                      "preprocessor_config.json",
                                                      "tokenizer.json",
                                                      "tokenizer_config.json",
                                                      "special_tokens_map.json",
                                                      "added_tokens.json",
                                                      "vocab.json",
                                                      "merges.txt",
                                                      "tokenizer.model",
                                                      "spiece.model",
                                                      "sentence_bert_config.json",
                                                      "config_sentence_transformers.json",
                                                      "sentencepiece.bpe.model",
                                                      "vocab.txt",
                                                      "chat_template.jinja",
                                                      "chat_template.json"};

std::string shard_name(size_t number, size_t count) {
  const auto digits = [](size_t value) {
    const std::string text = std::to_string(value);
    return std::string(5 - std::min<size_t>(text.size(), 5), '0') + text;
  };
  return "model-" + digits(number) + "-of-" + digits(count) + ".safetensors";
}

/// Divides the tensors, in their order, into files of at most `most_bytes`; a larger tensor is alone.
std::vector<NamedWeights> shards_of(const NamedWeights& weights, uint64_t most_bytes) {
  std::vector<NamedWeights> shards(1);
  uint64_t bytes = 0;
  for (const auto& item : weights) {
    const uint64_t more = item.second.nbytes();
    if (!shards.back().empty() && bytes + more > most_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(item);
    bytes += more;
  }
  return shards;
}

/// Writes tensors in the order of their names, as Python's safetensors does.
void write_shard(NamedWeights weights, const SafetensorsMetadata& metadata, const fs::path& path) {
  std::ranges::sort(weights, {}, &NamedWeights::value_type::first);
  State state = State::dict();
  for (const auto& [name, tensor] : weights) state.to_dict().emplace_back(name, State(tensor));
  save_safetensors(state, path, metadata);
}

/// Returns the names of the files that it has written.
std::set<std::string> write_weights(const NamedWeights& weights, const SafetensorsMetadata& metadata,
                                    const fs::path& folder, uint64_t most_bytes) {
  const std::vector<NamedWeights> shards = shards_of(weights, most_bytes);
  if (shards.size() == 1) {
    write_shard(shards.front(), metadata, folder / "model.safetensors");
    return {"model.safetensors"};
  }
  std::set<std::string> written = {"model.safetensors.index.json"};
  Json map = Json::object();
  uint64_t bytes = 0, numbers = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i + 1, shards.size());
    write_shard(shards[i], metadata, folder / name);
    written.insert(name);
    for (const auto& [key, tensor] : shards[i]) {
      add_member(map, key, name);
      bytes += tensor.nbytes();
      numbers += static_cast<uint64_t>(tensor.numel());
    }
  }
  const Json index = {{"metadata", {{"total_parameters", numbers}, {"total_size", bytes}}}, {"weight_map", map}};
  write_text_file_atomically(folder / "model.safetensors.index.json", json_text(index, 2) + "\n");
  return written;
}

bool is_weights_file(const std::string& name) {
  return name == "model.safetensors" || name == "model.safetensors.index.json" ||
         (name.starts_with("model-") && name.ends_with(".safetensors"));
}

/// transformers would prefer an old model.safetensors to a new index.
void remove_others(const fs::path& folder, const std::set<std::string>& written) {
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (is_weights_file(name) && !written.contains(name)) old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove(path);
}

const char* python_dtype(at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return "bfloat16";
  if (dtype == at::kHalf) return "float16";
  return dtype == at::kDouble ? "float64" : "float32";
}

void write_config(const PretrainedFiles& files, const fs::path& folder, at::ScalarType dtype) {
  Json config = Json::parse(files.config);
  const bool is_old = config.contains("torch_dtype");
  if (is_old) config["torch_dtype"] = python_dtype(dtype);
  if (files.says_dtype && (!is_old || config.contains("dtype"))) config["dtype"] = python_dtype(dtype);
  write_text_file_atomically(folder / "config.json", json_text(config, 2) + "\n");
}

void copy_other_files(const fs::path& source, const fs::path& folder) {
  std::error_code no_matter;
  if (fs::equivalent(source, folder, no_matter)) return;
  for (const char* const name : kCopiedFiles)
    if (fs::is_regular_file(source / name))
      fs::copy_file(source / name, folder / name, fs::copy_options::overwrite_existing);
}

}  // namespace

void write_pretrained_folder(const PretrainedFiles& files, const NamedWeights& weights, const fs::path& folder,
                             uint64_t most_bytes) try {
  const NewFolder made(folder);
  const std::set<std::string> written = write_weights(weights, files.metadata, folder, most_bytes);
  remove_others(folder, written);
  copy_other_files(files.source, folder);
  for (const auto& [path, text] : files.texts) {
    const NewFolder inner((folder / path).parent_path());
    write_text_file_atomically(folder / path, text);
  }
  write_config(files, folder, weights.empty() ? at::kFloat : weights.front().second.scalar_type());
} catch (const fs::filesystem_error& error) {
  throw UsageError(folder.string(), ": the model cannot be saved there: ", error.code().message());
}

}  // namespace levin::nn
