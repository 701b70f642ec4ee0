#include <levin/modules/transformers/load_pretrained.h>
#include <levin/core/system/error.h>
#include <levin/modules/transformers/load_tensors.h>

#include <string>
#include <vector>

namespace levin::nn {
namespace {

/// Returns the name of a part of the decoder in the module.
std::string path_of(const DecoderConfig& config, Role role) {
  return config.parts.base + "." + *name_of(config.parts.decoder, role);
}

/// The number of weights of the linear layers and tables alone.
double least_parameters(const DecoderConfig& config) {
  const auto hidden = static_cast<double>(config.hidden);
  const double of_attention = 2.0 * static_cast<double>((config.heads + config.key_value_heads) * config.head_size);
  const double of_layer = hidden * (of_attention + 2.0 * static_cast<double>(config.intermediate));
  return hidden * static_cast<double>(config.vocabulary + config.learned_positions) +
         of_layer * static_cast<double>(config.layers.size());
}

/// A head that is tied and nevertheless in the files is the embedding.
void check_tied_head(const PretrainedTensors& tensors, const DecoderConfig& config,
                     const std::filesystem::path& folder) {
  const std::string head = config.parts.head + ".weight";
  const std::string embedding = path_of(config, Role::Embedding) + ".weight";
  const auto of_head = tensors.find(head), of_embedding = tensors.find(embedding);
  if (of_head == tensors.end() || of_embedding == tensors.end() || of_head->second.equal(of_embedding->second)) return;
  throw UsageError(folder.string(), ": config.json says tie_word_embeddings, and ", head, " differs from ", embedding,
                   "; set tie_word_embeddings to false");
}

}  // namespace

void check_pretrained_sizes(const DecoderConfig& config, const PretrainedTensors& tensors,
                            const std::filesystem::path& folder) {
  const std::string name = path_of(config, Role::Embedding) + ".weight";
  const auto found = tensors.find(name);
  const std::vector<int64_t> expected = {config.vocabulary, config.hidden};
  if (found != tensors.end() && found->second.sizes() != expected)
    throw UsageError(folder.string(), ": config.json gives a vocabulary of ", config.vocabulary, " tokens of ",
                     config.hidden, " numbers, and ", name, " is ", found->second.sizes());
  check_weight_count(least_parameters(config), tensors, folder);
}

at::Tensor as_in_files(const at::Tensor& parameter, const std::string& name, const DecoderConfig& config) {
  const std::string layers = path_of(config, Role::Layers) + ".";
  return config.transposed_weights && parameter.dim() == 2 && name.starts_with(layers) ? parameter.t() : parameter;
}

void load_pretrained(torch::nn::Module& module, const PretrainedTensors& tensors, const DecoderConfig& config,
                     const std::filesystem::path& folder) {
  if (config.tied_head) check_tied_head(tensors, config, folder);
  load_tensors(
      module, tensors,
      {.family = config.family,
       .is_left = [&](const std::string& name) { return config.tied_head && name == config.parts.head + ".weight"; },
       .as_in_files = [&](const at::Tensor& parameter,
                          const std::string& name) { return as_in_files(parameter, name, config); }},
      folder);
}

}  // namespace levin::nn
