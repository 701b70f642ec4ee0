#pragma once
#include <levin/core/state/state.h>
#include <levin/modules/weights_report.h>

#include <torch/nn/module.h>

#include <filesystem>
#include <map>
#include <string>

namespace levin {

/// Returns the parameters and buffers of `module` by name, in the order of Python's `Module.state_dict()`: a module's
/// own parameters, its own buffers, then its children's. The tensors share the module's memory.
State module_state_dict(const torch::nn::Module& module);

struct LoadStateDictOptions {
  bool strict = true;  ///< missing and unexpected keys are errors; mismatched shapes always are
};

/// Copies a state dict into the parameters and buffers of `module`, in place and without a graph; the module's tensors
/// keep their device and dtype. A checkpoint, a dict with a dict under "state_dict", "model_state_dict" or "model", is
/// unwrapped first. Throws levin::UsageError that lists the mismatched keys with their shapes; the module is then
/// unchanged.
void load_module_state_dict(torch::nn::Module& module, const State& state, const LoadStateDictOptions& options = {});

/// Throws as load_module_state_dict would, without loading anything.
void check_module_state_dict(const torch::nn::Module& module, const State& state,
                             const LoadStateDictOptions& options = {});

struct WeightsOptions {
  bool strict = true;       ///< all tensors must match; false: load the matching ones, at least one
  std::string prefix = {};  ///< load only the keys with this prefix and strip it; empty: see load_weights
  /// What names become, then: {{"bert.*", "encoder.*"}}. A `*` stands for any characters, and in the new name for what
  /// the next `*` of the old one stood for. The pattern with the most other characters counts.
  std::map<std::string, std::string> renamed = {};
  std::string added_prefix = {};  ///< what is put before all names, last
};

/// Loads weights from a file into `module`, in place and without a graph; the module's tensors keep their device and
/// dtype. The format is detected from the content: a state dict or checkpoint of levin, of PyTorch Lightning or of
/// Python's `torch.save`, or a safetensors file. Returns a report of loaded and mismatched tensors.
///
/// If `prefix`, `renamed` and `added_prefix` are empty and no key names a tensor of the module, wrapper prefixes
/// ("module.", "_orig_mod.", "model.", "net.") are stripped from each key, or the prefix common to all of the module's
/// tensors is added ("net." for weights of the bare network), if keys then match. The report states which. Throws
/// levin::UsageError that names the file and lists the mismatches; the module is then unchanged.
WeightsReport load_weights(torch::nn::Module& module, const std::filesystem::path& path,
                           const WeightsOptions& options = {});

/// Reads the state dict of a file in any format that `load_weights` accepts.
State load_state_dict_file(const std::filesystem::path& path);

/// Writes `module_state_dict(module)` to a file that Python's `torch.load(path, weights_only=True)` opens, or to a
/// safetensors file if the path ends in .safetensors. Throws as `save_state` and `save_safetensors` do.
void save_weights(const torch::nn::Module& module, const std::filesystem::path& path);

}  // namespace levin
