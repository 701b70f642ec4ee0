#pragma once
#include <levin/trainer/core/state.h>

#include <torch/nn/module.h>

#include <filesystem>

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

/// Reads a state dict from a file of Python's `torch.save`, of levin, or from a checkpoint of levin or PyTorch
/// Lightning, into `module`. Throws levin::UsageError that names the file.
void load_weights(torch::nn::Module& module, const std::filesystem::path& path);

/// Writes `module_state_dict(module)` to a file that Python's `torch.load(path, weights_only=True)` opens.
/// Throws as `save_state` does.
void save_weights(const torch::nn::Module& module, const std::filesystem::path& path);

}  // namespace levin
