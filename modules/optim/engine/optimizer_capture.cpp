#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <levin/modules/optim/optimizer.h>

namespace levin::optim {

bool Optimizer::prepare_replay() {
  const at::NoGradGuard no_grad;
  bool same = captured_.size() == param_groups().size();
  captured_.resize(param_groups().size());
  for (size_t g = 0; g < captured_.size(); ++g) {
    const torch::optim::OptimizerParamGroup& group = param_groups()[g];
    if (group.params().empty()) continue;
    const at::Tensor& first = group.params().front();
    CapturedGroup& captured = captured_[g];
    const auto& options = static_cast<const AnyGroupOptions&>(group.options());
    if (!captured.options || !options.equals_but_lr(*captured.options)) {
      same = false;
      captured.options = options.clone();
      const at::TensorOptions on_device = at::TensorOptions(at::kFloat).device(first.device());
      captured.numbers = {.lr = at::zeros({}, on_device), .step = at::zeros({}, on_device)};
      captured.lr = 0;
    }
    if (const double lr = options.get_lr(); lr != captured.lr) captured.numbers.lr.fill_(captured.lr = lr);
    const auto held = state().find(first.unsafeGetTensorImpl());
    const int64_t made = held == state().end() ? 0 : static_cast<const ParamState&>(*held->second).step;
    captured.numbers.step.fill_(static_cast<double>(made + 1));
  }
  return same;
}

void Optimizer::set_found_inf(const at::Tensor& found_inf) {
  for (CapturedGroup& group : captured_) group.numbers.found_inf = found_inf;
}

void Optimizer::count_replay() {
  for (const torch::optim::OptimizerParamGroup& group : param_groups())
    for (const at::Tensor& parameter : group.params())
      if (parameter.grad().defined()) ++static_cast<ParamState&>(*state().at(parameter.unsafeGetTensorImpl())).step;
}

}  // namespace levin::optim
