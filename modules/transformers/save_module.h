#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/transformers/save_pretrained.h>

#include <filesystem>
#include <functional>
#include <string>

namespace levin::nn {

/// Returns a tensor under the name and in the shape that files have; an empty name: it is not written.
using FileForm = std::function<std::pair<std::string, at::Tensor>(const std::string& name, const at::Tensor& tensor)>;

/// Writes the weights of a module, with its adapters added, as a folder for transformers: see SavesPretrained. `more`
/// are written behind them.
void save_module(LightningModule& module, const PretrainedFiles& files, const FileForm& form, const NamedWeights& more,
                 const std::filesystem::path& folder, uint64_t most_bytes);

}  // namespace levin::nn
