#pragma once
#include <torch/csrc/jit/api/module.h>

#include <filesystem>

namespace levin {

/// Reads TorchScript onto the CPU. Throws levin::UsageError that says what the file is where it is something else: a
/// state dict, safetensors, what torch.export or C++'s torch::save wrote.
torch::jit::Module load_script(const std::filesystem::path& path);

/// Writes TorchScript with all tensors on the CPU. Throws as AtomicFile does.
void save_script(const torch::jit::Module& script, const std::filesystem::path& path);

}  // namespace levin
