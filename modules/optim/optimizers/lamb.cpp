#include <levin/modules/optim/optimizers/lamb.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <levin/modules/optim/engine/trust_ratio.h>

#include <cmath>
#include <utility>

namespace levin::optim {

LAMB::LAMB(std::vector<at::Tensor> parameters, LAMBOptions options)
    : LAMB(detail::one_group(std::move(parameters)), std::move(options)) {}
LAMB::LAMB(ParamGroups groups, LAMBOptions options) : OptimizerOf("LAMB", groups, std::move(options)) {}

StateNames LAMB::state_names() const { return {.tensors = {"exp_avg", "exp_avg_sq"}}; }

ParamState LAMB::make_state(const LAMBOptions& /*options*/, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter), detail::zeros_for(*member.parameter)});
}

void LAMB::update_group(const LAMBOptions& options, Members& members) {
  const double beta1 = options.betas[0], beta2 = options.betas[1];
  for (Member& member : members) {
    const at::Tensor& parameter = *member.parameter;
    const at::Tensor gradient = scaled_gradient(member);
    at::Tensor &average = member.state->tensors[0], &square = member.state->tensors[1];
    const auto step = static_cast<double>(member.state->step);
    average.lerp_(gradient, 1 - beta1);
    square.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
    at::Tensor update =
        (average / (1 - std::pow(beta1, step))).div_((square / (1 - std::pow(beta2, step))).sqrt_().add_(options.eps));
    if (options.weight_decay != 0) update.add_(parameter, options.weight_decay);
    const at::Tensor of_parameter = at::linalg_vector_norm(parameter, 2), of_update = at::linalg_vector_norm(update, 2);
    const at::Tensor trust = detail::trust_ratio(of_parameter, of_update, of_parameter / of_update);
    parameter.add_(update * trust, -options.lr);
  }
}

}  // namespace levin::optim
