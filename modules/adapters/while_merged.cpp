#include <levin/modules/adapters/while_merged.h>
#include <ATen/core/grad_mode.h>
#include <levin/modules/adapters/adapted_weight.h>

namespace levin::adapters {

WhileMerged::WhileMerged(const torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  for (AdaptedLayer& one : adapted_layers(module)) {
    const at::Tensor merged = one.adapter->merged(one.weight);
    adapters::detach(one.weight);
    at::Tensor held = one.weight.detach();
    one.weight.set_data(merged);
    before_.emplace_back(std::move(one), std::move(held));
  }
}

WhileMerged::~WhileMerged() {
  for (const auto& [one, held] : before_) {
    one.weight.set_data(held);
    adapters::attach(one.weight, one.adapter);
  }
}

}  // namespace levin::adapters
