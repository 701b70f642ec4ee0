#pragma once
#include <levin/modules/weights_report.h>
#include <levin/trainer/core/state/state.h>

#include <torch/nn/module.h>

#include <filesystem>
#include <string>

namespace levin {

/// The parameters and buffers of `module` by name, in the order of Python's `Module.state_dict()`: a module's own
/// parameters, its own buffers, then its children's. The tensors share the module's memory.
State module_state_dict(const torch::nn::Module& module);

struct LoadStateDictOptions {
  bool strict = true;  ///< keys that are missing or unexpected are an error; shapes that do not fit always are
};

/// Copies a state dict into the parameters and buffers of `module`, in place and without a graph; they keep their
/// device and dtype. A dict that holds a "state_dict" (a checkpoint) is unwrapped first.
/// Throws levin::UsageError that lists the keys that do not fit, with their shapes; the module is then unchanged.
void load_module_state_dict(torch::nn::Module& module, const State& state, const LoadStateDictOptions& options = {});

/// Throws as load_module_state_dict would, and loads nothing.
void check_module_state_dict(const torch::nn::Module& module, const State& state,
                             const LoadStateDictOptions& options = {});

struct WeightsOptions {
  bool strict = true;       ///< everything must fit; false loads what fits, which must be something
  std::string prefix = {};  ///< take only the keys that begin so, without it; empty: see load_weights
};

/// Reads weights from a file into `module`, in place and without a graph; they keep their device and dtype. The file's
/// content tells what it is: a state dict or checkpoint of levin, of PyTorch Lightning or of Python's `torch.save`, or
/// a safetensors file. Returns what was loaded and what did not fit.
///
/// Without `prefix`, and where no key names a tensor of the module, what wrappers put before each key is taken off
/// ("module.", "_orig_mod.", "model.", "net."), or the module's own first name is put there, where all its tensors have
/// one ("net." for weights of the network alone), if keys fit then. The report says what was done.
/// Throws levin::UsageError that names the file and lists what does not fit; the module is then unchanged.
WeightsReport load_weights(torch::nn::Module& module, const std::filesystem::path& path,
                           const WeightsOptions& options = {});

/// Reads the state dict of a file, as `load_weights` does: a dict, mostly of tensors.
State load_state_dict_file(const std::filesystem::path& path);

/// Writes `module_state_dict(module)` to a file that Python's `torch.load(path, weights_only=True)` opens, or to a
/// safetensors file where the path ends so. Throws as `save_state` and `save_safetensors` do.
void save_weights(const torch::nn::Module& module, const std::filesystem::path& path);

}  // namespace levin
