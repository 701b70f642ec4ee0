#include <levin/modules/adapters/lora.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/modules/adapters/adapted_weight.h>
#include <levin/modules/adapters/late_weights.h>
#include <levin/modules/adapters/low_rank_adapter.h>
#include <levin/modules/adapters/peft_folder.h>
#include <levin/modules/adapters/target_layers.h>
#include <levin/modules/weights.h>

#include <map>
#include <utility>

namespace levin {

using torch::nn::Module;

namespace {

std::vector<std::string> names_of(const std::vector<AdaptedLayer>& layers) {
  std::vector<std::string> names;
  for (const AdaptedLayer& one : layers) names.push_back(one.name);
  return names;
}

}  // namespace

std::vector<std::string> add_lora(Module& module, const LoRAOptions& options) {
  schema_of<LoRAOptions>().check(&options, "LoRA");
  if (options.double_quant && options.base != BaseFormat::NF4)
    throw UsageError("LoRA.double_quant: the scales of nf4 alone are quantised again; set base to nf4");
  if (!options.folder.empty()) {
    load_adapter(module, local_folder(options.folder));
    const std::vector<AdaptedLayer> loaded = adapted_layers(module);
    for (const AdaptedLayer& one : loaded) adapters::hold(one, options.base, options.double_quant);
    return names_of(loaded);
  }
  const std::vector<AdaptedLayer> targets = adapters::target_layers(module, options.targets);
  if (options.fan_in_fan_out)
    for (const AdaptedLayer& one : targets)
      if (adapters::is_linear(*one.layer))
        throw UsageError("LoRA.fan_in_fan_out: the weight of ", one.name,
                         " is stored as [out, in], as those of all linear layers of C++ are; leave the option out");
  for (const AdaptedLayer& one : targets)
    if (!adapters::is_late(one.weight)) adapters::check_can_be_held(one.weight, options.base, one.name);
  adapters::freeze(module, options.train);
  const adapters::LowRankShape shape = {.rank = options.rank,
                                        .scale = adapters::scale_of(options.alpha, options.rank, options.rslora),
                                        .dropout = options.dropout,
                                        .is_transposed = options.fan_in_fan_out,
                                        .dora = options.dora};
  for (AdaptedLayer one : targets) {
    one.adapter = adapters::add_adapter(one, shape);
    adapters::hold(one, options.base, options.double_quant);
  }
  return names_of(targets);
}

std::vector<AdaptedLayer> adapted_layers(const Module& module) {
  std::vector<AdaptedLayer> found;
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    const auto children = item.value()->named_children();
    const auto* const child = children.find("lora_A");
    if (child == nullptr) continue;
    if (auto adapter = std::dynamic_pointer_cast<adapters::LowRankAdapter>(*child))
      found.push_back({.name = item.key(),
                       .layer = item.value(),
                       .weight = adapters::weight_of(*item.value()),
                       .adapter = std::move(adapter)});
  }
  return found;
}

void attach_adapters(const Module& module) {
  for (const AdaptedLayer& one : adapted_layers(module)) adapters::attach(one.weight, one.adapter);
}

void merge_adapters(Module& module) {
  const at::NoGradGuard no_grad;
  for (const AdaptedLayer& one : adapted_layers(module)) {
    const at::Tensor merged = one.adapter->merged(one.weight);
    adapters::detach(one.weight);
    if (one.adapter->held)
      at::Tensor(one.weight).set_data(merged);
    else
      at::Tensor(one.weight).copy_(merged);
    adapters::remove_adapter(one);
  }
}

State merged_state_dict(const Module& module) {
  const at::NoGradGuard no_grad;
  std::map<std::string, AdaptedLayer> layers;
  for (AdaptedLayer& one : adapted_layers(module)) layers[one.name] = std::move(one);
  State merged = State::dict();
  for (const auto& [key, value] : module_state_dict(module).to_dict()) {
    const std::string name = to_text(key);
    const size_t last = name.rfind('.');
    const std::string part = name.substr(0, last == std::string::npos ? 0 : last);
    const auto factor = [&](const char* end) {
      return part.ends_with(end) && layers.contains(part.substr(0, part.size() - std::string(end).size()));
    };
    if (factor(".lora_A") || factor(".lora_B") || factor(".lora_magnitude_vector")) continue;
    const auto layer = name == part + ".weight" ? layers.find(part) : layers.end();
    merged[key] = layer == layers.end() ? value : State(layer->second.adapter->merged(value.to_tensor()));
  }
  return merged;
}

}  // namespace levin
