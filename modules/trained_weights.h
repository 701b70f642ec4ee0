#pragma once
#include <levin/core/state/state.h>

#include <torch/nn/module.h>

#include <filesystem>

namespace levin {

/// The name of what a data module has learned of its training data (data::learned_section): a key of checkpoints, an
/// attribute of the dict in files of weights, and metadata of safetensors files, as JSON.
inline constexpr const char* kLearnedFromData = "levin_data";

/// Writes weights as `save_weights` does, and with them what was learned of the data, if that is not none. In Python
/// `torch.load(path).levin_data` is a dict, and `load_state_dict(torch.load(path))` works as without.
void save_trained_weights(const torch::nn::Module& module, const State& learned, const std::filesystem::path& path);
/// The same for a state dict.
void save_trained_weights(const State& weights, const State& learned, const std::filesystem::path& path);

/// Returns what a checkpoint or a file of weights says of the data; none if it says nothing. Throws as load_state.
State learned_from_data_in(const std::filesystem::path& path);

}  // namespace levin
