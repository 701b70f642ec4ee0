#pragma once
#include <levin/modules/adapters/lora.h>
#include <levin/modules/adapters/low_rank_adapter.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::adapters {

/// Returns whether a layer is of a class that is known to be linear.
bool is_linear(const torch::nn::Module& layer);
/// Returns the parameter `weight` of a layer; undefined if it has none.
at::Tensor weight_of(const torch::nn::Module& layer);

/// Returns the layers of `module` that targets name as LoRAOptions::targets do, each once, in the module's order.
/// Throws levin::UsageError for a target that names nothing, and for a layer that cannot have an adapter.
std::vector<AdaptedLayer> target_layers(const torch::nn::Module& module, const std::vector<std::string>& targets);

/// Freezes the parameters of `module`, but those of the parts that `train` names as LoRAOptions::train does. Throws
/// levin::UsageError for a name of no part.
void freeze(torch::nn::Module& module, const std::vector<std::string>& train);

/// Gives a layer an adapter, and returns it. `in` and `out` of the shape follow from the layer's weight, as do the
/// magnitudes with `dora`.
std::shared_ptr<LowRankAdapter> add_adapter(const AdaptedLayer& target, LowRankShape shape);

/// Registers the modules of a layer's adapter in the layer, and takes them away.
void register_adapter(const AdaptedLayer& layer);
void remove_adapter(const AdaptedLayer& layer);

/// Replaces the frozen weight of an adapted layer by the form of `base`. The tensor stays the same object.
void hold(const AdaptedLayer& layer, BaseFormat base, bool double_quant);

}  // namespace levin::adapters
