#include <levin/trainer/tuner/module_snapshot.h>
#include <ATen/core/grad_mode.h>
#include <levin/modules/lightning_module.h>

namespace levin {
namespace {

/// Copies to main memory, because a trial may need the GPU's memory.
at::Tensor copy_of(const at::Tensor& tensor) {
  return tensor.is_cpu() ? tensor.detach().clone() : tensor.detach().to(at::kCPU);
}

}  // namespace

ModuleSnapshot::ModuleSnapshot(LightningModule& module) : module_(module) { add_new(); }

void ModuleSnapshot::add_new() {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : module_.parameters()) keep(parameter);
  for (const at::Tensor& buffer : module_.buffers()) keep(buffer);
  const auto keep_mode = [&](torch::nn::Module& module) {
    if (seen_.insert(&module).second) modes_.emplace_back(&module, module.is_training());
  };
  keep_mode(module_);
  for (const auto& submodule : module_.modules(/*include_self=*/false)) keep_mode(*submodule);
}

void ModuleSnapshot::keep(const at::Tensor& tensor) {
  if (!tensor.defined() || !seen_.insert(tensor.unsafeGetTensorImpl()).second) return;
  Kept kept{.tensor = tensor,
            .memory = tensor.variable_data(),
            .values = copy_of(tensor),
            .requires_grad = tensor.requires_grad()};
  if (tensor.is_leaf()) kept.gradient = tensor.grad();
  if (kept.gradient.defined()) kept.gradient_values = copy_of(kept.gradient);
  kept_.push_back(std::move(kept));
}

void ModuleSnapshot::restore() {
  const at::NoGradGuard no_grad;
  for (Kept& kept : kept_) {
    at::Tensor& tensor = kept.tensor;
    kept.memory.copy_(kept.values);
    const bool is_there = tensor.device() == kept.memory.device() && tensor.dtype() == kept.memory.dtype() &&
                          tensor.sizes() == kept.memory.sizes() && tensor.strides() == kept.memory.strides() &&
                          tensor.const_data_ptr() == kept.memory.const_data_ptr();
    // Cleared first, because a gradient on another device could not be kept with the old storage.
    if (tensor.is_leaf()) tensor.mutable_grad() = at::Tensor();
    if (!is_there) tensor.set_data(kept.memory);
    if (tensor.is_leaf() && tensor.requires_grad() != kept.requires_grad) tensor.set_requires_grad(kept.requires_grad);
    if (!kept.gradient.defined()) continue;
    kept.gradient.copy_(kept.gradient_values);
    tensor.mutable_grad() = kept.gradient;
  }
  // train(bool) sets the whole subtree. Children come after their parents, so they end up with the right mode.
  for (const auto& [module, training] : modes_) module->train(training);
}

}  // namespace levin
