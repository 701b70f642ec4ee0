#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/transformers/decoder_config.h>

#include <filesystem>
#include <map>
#include <string>

namespace levin::nn {

/// Tensors by name, mapped from files: their bytes are read when they are used.
using PretrainedTensors = std::map<std::string, at::Tensor>;

/// Returns the folder that an option names, or its copy in the cache (local_folder). Throws levin::UsageError that
/// begins with the option unless there is one.
std::filesystem::path open_model_folder(const std::string& folder, const std::string& option);

/// Reads the weights of a folder, `model.safetensors` or the files that `model.safetensors.index.json` names. Throws
/// levin::UsageError that names the file if there are none, if files are missing or damaged, or if the index names a
/// tensor that its file does not have.
PretrainedTensors read_pretrained_tensors(const std::filesystem::path& folder);

/// Gives tensors the names that they have below the decoder's head. Files of a bare decoder lack its name: "wte.weight"
/// for "transformer.wte.weight". A head may be named "lm_head" in each family.
PretrainedTensors with_base_name(PretrainedTensors tensors, const DecoderConfig& config);

}  // namespace levin::nn
