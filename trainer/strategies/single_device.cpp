#include <levin/trainer/strategies/single_device.h>
#include <levin/core/system/error.h>
#include <levin/trainer/strategies/step_error.h>

#include <utility>

namespace levin {

void SingleDeviceStrategy::place(LightningModule& module) {
  module_ = &module;
  if (moves_module_) module.to(device_);
}

StepOutput SingleDeviceStrategy::run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) {
  return explain_step_errors(*module_, batch, device_, std::exchange(first_.training, false),
                             [&] { return function(*module_, batch, batch_idx); });
}

void SingleDeviceStrategy::run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) {
  explain_step_errors(*module_, batch, device_, std::exchange(first_.evaluation, false),
                      [&] { (module_->*kind)(batch, batch_idx); });
}

Batch SingleDeviceStrategy::run_predict_step(const Batch& batch, int64_t batch_idx) {
  return explain_step_errors(*module_, batch, device_, std::exchange(first_.prediction, false),
                             [&] { return module_->predict_step(batch, batch_idx); });
}

void SingleDeviceStrategy::attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  if (!moves_module_) return;
  for (const auto& optimizer : optimizers)
    for (const auto& group : optimizer->param_groups())
      for (const at::Tensor& parameter : group.params())
        if (parameter.device() != device_)
          throw UsageError("configure_optimizers: a parameter of shape ", parameter.sizes(), " is on ",
                           parameter.device(), ", the run is on ", device_,
                           "; create optimizers from parameters() inside configure_optimizers");
}

}  // namespace levin
