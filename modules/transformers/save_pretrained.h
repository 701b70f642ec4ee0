#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/safetensors.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace levin::nn {

/// Tensors with the names and the shapes that they have in files, in their order.
using NamedWeights = std::vector<std::pair<std::string, at::Tensor>>;

struct PretrainedFiles {
  std::string config = {};  ///< text of config.json
  bool says_dtype = true;   ///< config.json gets the dtype of the weights
  SafetensorsMetadata metadata = {{"format", "pt"}};
  std::filesystem::path source = {};  ///< the folder that the tokenizer's files and generation_config.json come from
  std::map<std::string, std::string> texts = {};  ///< other files, by their path in the folder
};

/// Writes a folder that transformers' from_pretrained opens: `config.json` with the dtype of the weights,
/// `model.safetensors`, or several files with an index if it would be larger than `most_bytes`, and copies of the
/// tokenizer's files. Each file appears whole or not at all; weights under other names that were there are removed.
/// Throws as save_safetensors.
void write_pretrained_folder(const PretrainedFiles& files, const NamedWeights& weights,
                             const std::filesystem::path& folder, uint64_t most_bytes);

}  // namespace levin::nn
