#include <levin/modules/transformers/load_pretrained.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace levin::nn {
namespace {

/// Buffers that older versions of transformers have written, and that follow from config.json.
constexpr std::array<std::string_view, 5> kOldBuffers = {".rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias",
                                                         ".attention.bias", ".attention.masked_bias"};

bool is_old_buffer(const std::string& name) {
  return std::ranges::any_of(kOldBuffers, [&](std::string_view end) { return name.ends_with(end); });
}

/// Returns the name of a part of the decoder in the module.
std::string path_of(const DecoderConfig& config, Role role) {
  return config.parts.base + "." + *name_of(config.parts.decoder, role);
}

bool is_weight_dtype(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf || dtype == at::kDouble;
}

/// A list for people: the first names, and how many there are.
std::string listed(const char* what, const std::vector<std::string>& names) {
  constexpr size_t kShown = 10;
  if (names.empty()) return {};
  std::string text = std::string("\n  ") + what + ": ";
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more" : text;
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
  double in_files = 0;
  for (const auto& [key, tensor] : tensors) in_files += static_cast<double>(tensor.numel());
  if (least_parameters(config) > 4 * in_files + 1e6)
    throw UsageError(folder.string(), ": the sizes in config.json give ", least_parameters(config),
                     " weights, and the files have ", in_files);
}

at::Tensor as_in_files(const at::Tensor& parameter, const std::string& name, const DecoderConfig& config) {
  const std::string layers = path_of(config, Role::Layers) + ".";
  return config.transposed_weights && parameter.dim() == 2 && name.starts_with(layers) ? parameter.t() : parameter;
}

at::ScalarType dtype_of_pretrained(const PretrainedTensors& tensors, const std::filesystem::path& folder) {
  const std::pair<const std::string, at::Tensor>* first = nullptr;
  for (const auto& item : tensors) {
    if (is_old_buffer(item.first) || !is_weight_dtype(item.second.scalar_type())) continue;
    if (first == nullptr) first = &item;
    if (item.second.scalar_type() != first->second.scalar_type())
      throw UsageError(folder.string(), ": has weights of several dtypes: ", first->first, " is ",
                       first->second.scalar_type(), ", ", item.first, " is ", item.second.scalar_type(),
                       "; set model.dtype to float32");
  }
  if (first == nullptr) throw UsageError(folder.string(), ": has no weights of a floating dtype");
  return first->second.scalar_type();
}

void load_pretrained(torch::nn::Module& module, const PretrainedTensors& tensors, const DecoderConfig& config,
                     const std::filesystem::path& folder) {
  std::vector<std::string> missing, unexpected, mismatched;
  std::set<std::string> known;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const auto& item : module.named_parameters()) {
    known.insert(item.key());
    const auto found = tensors.find(item.key());
    if (found == tensors.end()) {
      missing.push_back(item.key());
      continue;
    }
    const at::Tensor target = as_in_files(item.value().detach(), item.key(), config);
    const at::Tensor& source = found->second;
    if (target.sizes() == source.sizes() && is_weight_dtype(source.scalar_type()))
      copies.emplace_back(target, source);
    else
      mismatched.push_back(
          c10::str(item.key(), " (is ", source.sizes(), " of ", source.scalar_type(), ", needs ", target.sizes(), ")"));
  }
  for (const auto& [name, tensor] : tensors) {
    const bool is_tied_head = config.tied_head && name == config.parts.head + ".weight";
    if (!known.contains(name) && !is_old_buffer(name) && !is_tied_head) unexpected.push_back(name);
  }
  if (!missing.empty() || !unexpected.empty() || !mismatched.empty())
    throw UsageError(folder.string(), ": the weights do not fit a ", config.family,
                     " of the sizes in config.json:", listed("missing", missing), listed("unexpected", unexpected),
                     listed("mismatched", mismatched));
  if (config.tied_head) check_tied_head(tensors, config, folder);
  const at::NoGradGuard no_grad;
  for (auto& [target, source] : copies) target.copy_(source);
}

}  // namespace levin::nn
