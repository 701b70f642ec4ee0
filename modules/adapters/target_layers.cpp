#include <levin/modules/adapters/target_layers.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/core/system/heap.h>
#include <levin/modules/adapters/adapted_weight.h>
#include <levin/modules/adapters/late_weights.h>
#include <levin/modules/name_pattern.h>
#include <levin/modules/parallel/tensor/column_linear.h>
#include <levin/modules/parallel/tensor/row_linear.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <levin/modules/parallel/tensor/vocabulary_embedding.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace levin::adapters {
namespace {

using torch::nn::Module;

constexpr const char* kAllLinear = "all-linear";

bool is_embedding(const Module& module) {
  return dynamic_cast<const torch::nn::EmbeddingImpl*>(&module) != nullptr ||
         dynamic_cast<const parallel::VocabularyEmbeddingImpl*>(&module) != nullptr;
}

/// Returns whether a layer's name, or that of a part that it is in, is one that networks give to what turns features
/// into classes or tokens.
bool is_head(const std::string& name) {
  constexpr std::array<std::string_view, 5> kHeads = {"head", "lm_head", "classifier", "pre_classifier", "score"};
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    if (std::ranges::find(kHeads, std::string_view(name).substr(begin, end - begin)) != kHeads.end()) return true;
    begin = end + 1;
  }
  return false;
}

/// Returns whether a layer has a weight like that of a linear one.
bool may_be_linear(const Module& layer) {
  const at::Tensor weight = weight_of(layer);
  return weight.defined() && weight.dim() == 2 && !is_embedding(layer);
}

/// Returns the layers that `target` names; a pattern, those of them that may be linear. Throws if there is none, or if
/// one of them cannot have an adapter.
std::vector<AdaptedLayer> layers_of(const std::string& target, const Module& module) {
  std::vector<AdaptedLayer> found;
  std::vector<std::string> linear;
  for (const auto& item : module.named_modules(/*name_prefix=*/"", /*include_self=*/false)) {
    const std::string& name = item.key();
    if (is_linear(*item.value())) linear.push_back(name);
    if (target == kAllLinear ? !is_linear(*item.value()) || is_head(name) : !matches_name(target, name)) continue;
    if (is_pattern(target) && !may_be_linear(*item.value())) continue;
    found.push_back({.name = name, .layer = item.value(), .weight = weight_of(*item.value())});
  }
  if (!found.empty()) return found;
  if (target == kAllLinear)
    throw UsageError("LoRA: the module has no layer that is known to be linear; name layers in targets");
  throw UsageError("LoRA: the target ", target, " names no part of the module", did_you_mean(target, linear),
                   linear.empty() ? "" : c10::str("; its first linear layer is ", linear.front()));
}

void check(const AdaptedLayer& one) {
  const auto refuse = [&one](const auto&... why) { throw UsageError("LoRA: ", one.name, " ", why...); };
  if (!one.weight.defined()) refuse("has no parameter `weight`; targets are linear layers");
  if (one.weight.dim() != 2)
    refuse("has a weight of ", one.weight.sizes(), "; targets are linear layers, with a weight [out, in]");
  if (is_embedding(*one.layer)) refuse("is an embedding; name it in train, so that it is trained whole");
  if (!one.weight.is_floating_point()) refuse("has a weight of ", one.weight.scalar_type());
  if (const auto* divided = dynamic_cast<const parallel::TensorParallel*>(one.layer.get());
      divided != nullptr && divided->is_divided())
    refuse("is divided among tensor-parallel ranks; adapters need whole layers (trainer.mesh.tensor 1)");
  if (adapters::adapter_of(one.weight) || one.layer->named_children().contains("lora_A")) refuse("has an adapter");
}

void check_shared(const std::vector<AdaptedLayer>& layers) {
  for (size_t i = 0; i < layers.size(); ++i)
    for (size_t other = 0; other < i; ++other)
      if (layers[i].weight.is_same(layers[other].weight))
        throw UsageError("LoRA: ", layers[i].name, " and ", layers[other].name,
                         " share a weight, which can have one adapter; name one of them in targets");
}

}  // namespace

bool is_linear(const Module& module) {
  return dynamic_cast<const torch::nn::LinearImpl*>(&module) != nullptr ||
         dynamic_cast<const parallel::ColumnLinearImpl*>(&module) != nullptr ||
         dynamic_cast<const parallel::RowLinearImpl*>(&module) != nullptr;
}

at::Tensor weight_of(const Module& layer) {
  const auto parameters = layer.named_parameters(/*recurse=*/false);
  const at::Tensor* const weight = parameters.find("weight");
  return weight == nullptr ? at::Tensor() : *weight;
}

std::vector<AdaptedLayer> target_layers(const Module& module, const std::vector<std::string>& targets) {
  std::map<std::string, AdaptedLayer> named;
  for (const std::string& target : targets)
    for (const AdaptedLayer& one : layers_of(target, module)) named.emplace(one.name, one);
  std::vector<AdaptedLayer> chosen;
  for (const std::string& name : module.named_modules("", /*include_self=*/false).keys())
    if (const auto found = named.find(name); found != named.end()) chosen.push_back(found->second);
  for (const AdaptedLayer& one : chosen) check(one);
  check_shared(chosen);
  return chosen;
}

void freeze(Module& module, const std::vector<std::string>& train) {
  for (at::Tensor& parameter : module.parameters()) parameter.set_requires_grad(false);
  for (const std::string& part : train) {
    bool is_found = false;
    for (const auto& item : module.named_modules("", /*include_self=*/false)) {
      if (!matches_name(part, item.key())) continue;
      is_found = true;
      for (at::Tensor& parameter : item.value()->parameters()) parameter.set_requires_grad(true);
    }
    if (!is_found)
      throw UsageError("LoRA: train names ", part, ", which is no part of the module",
                       did_you_mean(part, module.named_modules("", false).keys()));
  }
}

std::shared_ptr<LowRankAdapter> add_adapter(const AdaptedLayer& target, LowRankShape shape) {
  shape.in = target.weight.size(shape.is_transposed ? 0 : 1);
  shape.out = target.weight.size(shape.is_transposed ? 1 : 0);
  auto adapter = std::make_shared<LowRankAdapter>(shape, target.weight.device());
  adapter->train(target.layer->is_training());
  if (adapter->magnitude) {
    const at::NoGradGuard no_grad;
    fill_late(target.weight);
    adapter->magnitude->weight.copy_(adapter->row_norms(target.weight));  // B is zero
  }
  register_adapter({.layer = target.layer, .adapter = adapter});
  attach(target.weight, adapter);
  return adapter;
}

void register_adapter(const AdaptedLayer& layer) {
  layer.layer->register_module("lora_A", layer.adapter);
  layer.layer->register_module("lora_B", layer.adapter->output);
  if (layer.adapter->magnitude) layer.layer->register_module("lora_magnitude_vector", layer.adapter->magnitude);
}

void remove_adapter(const AdaptedLayer& layer) {
  for (const char* part : {"lora_A", "lora_B", "lora_magnitude_vector"})
    if (layer.layer->named_children().contains(part)) layer.layer->unregister_module(part);
}

void hold(const AdaptedLayer& layer, BaseFormat base, bool double_quant) {
  if (base == BaseFormat::AsGiven) return;
  const HeldForm form = {.format = base,
                         .double_quant = double_quant,
                         .rows = layer.weight.size(0),
                         .cols = layer.weight.size(1),
                         .dtype = layer.weight.scalar_type()};
  const bool was_late = fill_late(layer.weight);
  const size_t bytes = layer.weight.nbytes();
  const at::Tensor held = held_values(layer.weight, form, layer.name);
  adapters::detach(layer.weight);
  at::Tensor(layer.weight).set_data(held);
  layer.adapter->held = form;
  attach(layer.weight, layer.adapter);
  // Otherwise the floats of all layers, which are made before, would stay behind in the heap.
  if (was_late && bytes >= size_t{1} << 20) return_free_memory();
}

}  // namespace levin::adapters
