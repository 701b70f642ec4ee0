#pragma once
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <map>
#include <string>

namespace levin {

/// Loads TorchScript onto the CPU. Throws levin::UsageError that names the kind of file if it is something else: a
/// state dict, safetensors, or a file written by torch.export or C++'s torch::save.
torch::jit::Module load_script(const std::filesystem::path& path);

/// Writes TorchScript with all tensors on the CPU, and `files`, which Python reads by torch.jit.load's _extra_files.
/// Throws as AtomicFile does.
void save_script(const torch::jit::Module& script, const std::filesystem::path& path,
                 const std::map<std::string, std::string>& files = {});

}  // namespace levin
