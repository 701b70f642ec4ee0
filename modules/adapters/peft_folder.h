#pragma once
#include <torch/nn/module.h>

#include <filesystem>
#include <string>

namespace levin {

struct PeftFolderOptions {
  std::string base_model = {};  ///< `base_model_name_or_path`: the folder or name of the frozen network
  std::string task = {};        ///< `task_type`, such as "CAUSAL_LM"; empty: none
};

/// Writes the adapters of `module`, and the parts that are trained whole beside them, to a folder that Python's
/// `peft.PeftModel.from_pretrained` opens: adapter_config.json and adapter_model.safetensors. Names are those in
/// `module`, which is the network that Python knows; or, if a part called `net` has all adapters, as in levin's ready
/// modules, those in that part. Throws levin::UsageError if the
/// module has no adapter or adapters of several scales, and as save_safetensors does.
void save_adapter(const torch::nn::Module& module, const std::filesystem::path& folder,
                  const PeftFolderOptions& options = {});

/// Adds the adapters of such a folder to `module`, which freezes it, and loads their values and those of the parts that
/// were trained whole. The names in the file are those of layers of `module`, or the ends of them. An adapter without
/// dropout computes the same in training and in use.
///
/// Throws levin::UsageError that names the file for one that is missing or damaged, for a kind of adapter other than
/// LoRA, for layers that `module` lacks, sizes that do not fit, and settings that change what is computed and are not
/// known (lora_bias, ...).
void load_adapter(torch::nn::Module& module, const std::filesystem::path& folder);

}  // namespace levin
