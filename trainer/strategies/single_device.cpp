#include <levin/trainer/strategies/single_device.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/trainer/core/error.h>

namespace levin {

void SingleDeviceStrategy::place(LightningModule& module) {
  module_ = &module;
  module.to(device_);
}

void SingleDeviceStrategy::attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  for (const auto& optimizer : optimizers)
    for (const auto& group : optimizer->param_groups())
      for (const at::Tensor& parameter : group.params())
        if (parameter.device() != device_)
          throw UsageError("configure_optimizers: a parameter of shape ", parameter.sizes(), " is on ",
                           parameter.device(), ", the run is on ", device_,
                           "; create optimizers from parameters() inside configure_optimizers");
}

State SingleDeviceStrategy::optimizer_state(torch::optim::Optimizer& optimizer) {
  return optimizer_state_dict(optimizer);
}

void SingleDeviceStrategy::load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) {
  load_optimizer_state_dict(optimizer, state);
}

void SingleDeviceStrategy::backward(const at::Tensor& loss, bool /*sync*/) { module_->backward(loss); }

}  // namespace levin
