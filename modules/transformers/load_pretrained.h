#pragma once
#include <levin/modules/transformers/decoder_config.h>
#include <levin/modules/transformers/pretrained_tensors.h>
#include <torch/nn/module.h>

#include <filesystem>

namespace levin::nn {

/// Throws levin::UsageError if the embedding in the files has other sizes than config.json says, or if a decoder with
/// these sizes has far more weights than the files: what must hold before memory is taken for it.
void check_pretrained_sizes(const DecoderConfig& config, const PretrainedTensors& tensors,
                            const std::filesystem::path& folder);

/// Copies the tensors into the module's parameters, which keep their dtype. Throws levin::UsageError that lists the
/// parameters that are missing in the files, the tensors that belong to none, and those of another shape or of a dtype
/// that is no floating one.
void load_pretrained(torch::nn::Module& module, const PretrainedTensors& tensors, const DecoderConfig& config,
                     const std::filesystem::path& folder);

/// Returns a parameter as the family's files have it: transposed for some. Shares the memory.
at::Tensor as_in_files(const at::Tensor& parameter, const std::string& name, const DecoderConfig& config);

}  // namespace levin::nn
