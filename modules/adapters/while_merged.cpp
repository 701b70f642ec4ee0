#include <levin/modules/adapters/while_merged.h>
#include <ATen/core/grad_mode.h>
#include <levin/modules/adapters/adapted_weight.h>

#include <utility>

namespace levin::adapters {

// The object is whole before the body begins: if memory ends in the middle, the destructor gives back what was merged.
WhileMerged::WhileMerged(const torch::nn::Module& module) : WhileMerged() {
  const at::NoGradGuard no_grad;
  std::vector<AdaptedLayer> layers = adapted_layers(module);
  before_.reserve(layers.size());
  for (AdaptedLayer& one : layers) {
    const at::Tensor merged = one.adapter->merged(one.weight);
    at::Tensor held = one.weight.detach();
    adapters::detach(one.weight);
    before_.emplace_back(std::move(one), std::move(held));
    before_.back().first.weight.set_data(merged);
  }
}

WhileMerged::~WhileMerged() {
  for (const auto& [one, held] : before_) {
    one.weight.set_data(held);
    adapters::attach(one.weight, one.adapter);
  }
}

}  // namespace levin::adapters
