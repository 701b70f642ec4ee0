#include <levin/modules/adapters/peft_folder.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/new_folder.h>
#include <levin/core/state/safetensors.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/modules/adapters/late_weights.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/adapters/low_rank_adapter.h>
#include <levin/modules/adapters/peft_config.h>
#include <levin/modules/adapters/peft_weights.h>
#include <levin/modules/adapters/target_layers.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace levin {
namespace {

using adapters::Factors;
using adapters::kPeftConfigFile;
using adapters::kPeftPrefix;
using adapters::kPeftWeightsFile;
using adapters::PeftWeights;
using torch::nn::Module;

/// Returns the layers of the factors, in the module's order, each with its factors.
std::vector<std::pair<AdaptedLayer, Factors>> layers_of(const PeftWeights& weights, const Module& module,
                                                        const std::string& file) {
  const std::vector<std::string> all = module.named_modules("", /*include_self=*/false).keys();
  std::map<std::string, Factors> by_layer;
  std::vector<std::string> targets;
  for (const auto& [name, factors] : weights.factors) {
    const std::optional<std::string> layer = adapters::name_in(all, name);
    if (!layer) throw UsageError(file, ": the module has no layer ", name, did_you_mean(name, all));
    by_layer[*layer] = factors;
    targets.push_back(*layer);
  }
  std::vector<std::pair<AdaptedLayer, Factors>> layers;
  for (AdaptedLayer& layer : adapters::target_layers(module, targets))
    if (const auto found = by_layer.find(layer.name); found != by_layer.end())
      layers.emplace_back(std::move(layer), found->second);
  return layers;
}

/// A tensor of a module that was trained whole, and its value in a file.
struct TrainedWhole {
  at::Tensor tensor = {}, value = {};
  bool is_parameter = false;  ///< not a buffer
};

std::vector<TrainedWhole> others_of(const PeftWeights& weights, const Module& module, const std::string& file) {
  const auto parameters = module.named_parameters();
  auto tensors = parameters;
  for (const auto& buffer : module.named_buffers()) tensors.insert(buffer.key(), buffer.value());
  std::vector<TrainedWhole> others;
  for (const auto& [name, value] : weights.others) {
    const std::optional<std::string> known = adapters::name_in(tensors.keys(), name);
    if (!known) throw UsageError(file, ": the module has no ", name, did_you_mean(name, tensors.keys()));
    const at::Tensor& tensor = tensors[*known];
    if (tensor.sizes() != value.sizes())
      throw UsageError(file, ": ", name, " is of ", value.sizes(), ", in the module of ", tensor.sizes());
    others.push_back({.tensor = tensor, .value = value, .is_parameter = parameters.contains(*known)});
  }
  return others;
}

/// Returns the shortest name that means a layer and no other one without an adapter, as PEFT compares the ends of
/// names.
std::string target_name(const AdaptedLayer& layer, const std::vector<std::string>& unadapted) {
  const std::string last = layer.name.substr(layer.name.rfind('.') + 1);
  for (const std::string& other : unadapted)
    if (other == last || other.ends_with("." + last)) return layer.name;
  return last;
}

double alpha_of(const AdaptedLayer& layer) {
  return layer.adapter->shape.scale * static_cast<double>(layer.adapter->shape.rank);
}

/// Writes what differs from layer to layer.
void describe_layers(const std::vector<AdaptedLayer>& layers, const Module& module, nlohmann::ordered_json& config) {
  std::vector<std::string> unadapted = module.named_modules("", /*include_self=*/false).keys();
  for (const AdaptedLayer& layer : layers) std::erase(unadapted, layer.name);
  std::set<std::string> named;
  for (const AdaptedLayer& layer : layers) {
    if (std::string target = target_name(layer, unadapted); named.insert(target).second)
      config["target_modules"].push_back(std::move(target));
    const int64_t rank = layer.adapter->shape.rank;
    if (rank != config["r"]) config["rank_pattern"][layer.name] = rank;
    if (alpha_of(layer) != config["lora_alpha"]) config["alpha_pattern"][layer.name] = alpha_of(layer);
    if (layer.adapter->shape.is_transposed) config["fan_in_fan_out"] = true;
  }
}

/// Adds the parts with parameters that are trained whole: their own parameters and buffers.
void add_others(const Module& module, nlohmann::ordered_json& config, State& weights) {
  const auto trains = [](const at::Tensor& one) { return one.requires_grad(); };
  if (std::ranges::any_of(module.parameters(/*recurse=*/false), trains))
    throw UsageError(
        "save_adapter: the module itself has a parameter that is trained, which PEFT's format cannot hold; "
        "give it to a part");
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    const Module& part = *item.value();
    if (dynamic_cast<const adapters::LowRankAdapter*>(&part) || dynamic_cast<const adapters::AdapterPart*>(&part))
      continue;
    const auto own = part.named_parameters(/*recurse=*/false);
    if (std::ranges::none_of(own.values(), trains)) continue;
    if (config["modules_to_save"].is_null()) config["modules_to_save"] = nlohmann::ordered_json::array();
    config["modules_to_save"].push_back(item.key());
    const std::string prefix = std::string(kPeftPrefix) + item.key() + ".";
    for (const auto& one : own) weights[prefix + one.key()] = one.value().detach();
    for (const auto& one : part.named_buffers(/*recurse=*/false)) weights[prefix + one.key()] = one.value();
  }
}

/// Returns the part called `net`, if it has all adapters, or else the module.
const Module& network_in(const Module& module) {
  const auto parts = module.named_children();
  const auto* const net = parts.find("net");
  const bool has_all = net != nullptr && adapted_layers(**net).size() == adapted_layers(module).size();
  return has_all ? **net : module;
}

}  // namespace

void save_adapter(const Module& given, const std::filesystem::path& folder, const PeftFolderOptions& options) {
  const Module& module = network_in(given);
  const std::vector<AdaptedLayer> layers = adapted_layers(module);
  if (layers.empty()) throw UsageError("save_adapter: the module has no adapter; add_lora gives it some");
  nlohmann::ordered_json config = adapters::peft_config_json(
      alpha_of(layers.front()), layers.front().adapter->shape.rank, layers.front().adapter->shape.dora);
  if (!options.base_model.empty()) config["base_model_name_or_path"] = options.base_model;
  if (!options.task.empty()) config["task_type"] = options.task;
  State weights = State::dict();
  for (const AdaptedLayer& layer : layers) {
    const std::string name = std::string(kPeftPrefix) + layer.name;
    weights[name + std::string(adapters::kFactorA)] = layer.adapter->weight.detach();
    weights[name + std::string(adapters::kFactorB)] = layer.adapter->output->weight.detach();
    if (const auto& magnitude = layer.adapter->magnitude)
      weights[name + std::string(adapters::kMagnitude)] = magnitude->weight.detach();
  }
  describe_layers(layers, module, config);
  add_others(module, config, weights);
  const NewFolder made(folder);
  save_safetensors(weights, folder / kPeftWeightsFile);
  write_text_file_atomically(folder / kPeftConfigFile, json_text(config, 2) + "\n");
}

void load_adapter(Module& module, const std::filesystem::path& folder) {
  const std::string file = (folder / kPeftWeightsFile).string();
  const adapters::PeftConfig config = adapters::read_peft_config(folder / kPeftConfigFile);
  const PeftWeights weights = adapters::read_peft_weights(folder / kPeftWeightsFile);
  adapters::check_magnitudes(weights, config.dora, file);
  const auto layers = layers_of(weights, module, file);
  const auto others = others_of(weights, module, file);
  std::vector<bool> transposed;
  for (const auto& [layer, factors] : layers)
    transposed.push_back(adapters::is_transposed(layer.weight.sizes(), factors,
                                                 config.fan_in_fan_out && !adapters::is_linear(*layer.layer),
                                                 file + ": " + layer.name));
  const at::NoGradGuard no_grad;
  adapters::freeze(module, {});
  for (const TrainedWhole& other : others) {
    adapters::fill_late(other.tensor);
    other.tensor.copy_(other.value);
    if (other.is_parameter) other.tensor.set_requires_grad(true);
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto& [layer, factors] = layers[i];
    const int64_t rank = factors.a.size(0);
    const auto adapter = adapters::add_adapter(layer, {.rank = rank,
                                                       .scale = adapters::scale_of(config, layer.name, rank),
                                                       .dropout = config.dropout,
                                                       .is_transposed = transposed[i],
                                                       .dora = config.dora});
    adapter->weight.copy_(factors.a);
    adapter->output->weight.copy_(factors.b);
    if (config.dora) adapter->magnitude->weight.copy_(factors.magnitude);
  }
}

}  // namespace levin
