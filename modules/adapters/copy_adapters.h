#pragma once
#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <memory>
#include <optional>

namespace levin::adapters {

/// Gives the layers of `copy`, which was made as `module` was before it got adapters, adapters like those of `module`,
/// with other values. Does nothing if `copy` has them. Throws levin::UsageError for a layer that `copy` lacks.
void copy_adapters(const torch::nn::Module& module, torch::nn::Module& copy);

/// Returns `module.clone(device)` with adapters like its own, of other values: parts of LibTorch cannot clone what was
/// added to them. Throws levin::UsageError if weights are held in another form than floats, and as clone does.
std::shared_ptr<torch::nn::Module> clone_adapted(const torch::nn::Module& module, std::optional<c10::Device> device);

}  // namespace levin::adapters
