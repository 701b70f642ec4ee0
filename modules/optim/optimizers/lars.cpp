#include <levin/modules/optim/optimizers/lars.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <levin/modules/optim/engine/trust_ratio.h>

#include <utility>

namespace levin::optim {

LARS::LARS(std::vector<at::Tensor> parameters, LARSOptions options)
    : LARS(detail::one_group(std::move(parameters)), std::move(options)) {}
LARS::LARS(ParamGroups groups, LARSOptions options) : OptimizerOf("LARS", groups, std::move(options)) {}

StateNames LARS::state_names() const { return {.tensors = {"momentum_buffer"}, .has_step = false}; }

ParamState LARS::make_state(const LARSOptions& /*options*/, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter)});
}

void LARS::update_group(const LARSOptions& options, Members& members) {
  for (Member& member : members) {
    const at::Tensor& parameter = *member.parameter;
    at::Tensor gradient = scaled_gradient(member);
    const at::Tensor of_parameter = at::linalg_vector_norm(parameter, 2),
                     of_gradient = at::linalg_vector_norm(gradient, 2);
    const at::Tensor ratio =
        of_parameter * options.trust_coefficient / (of_gradient + of_parameter * options.weight_decay + options.eps);
    if (options.weight_decay != 0) gradient = gradient.add(parameter, options.weight_decay);
    gradient = gradient * detail::trust_ratio(of_parameter, of_gradient, ratio);
    at::Tensor& buffer = member.state->tensors[0];
    buffer.mul_(options.momentum).add_(gradient);
    parameter.add_(options.nesterov ? gradient.add(buffer, options.momentum) : buffer, -options.lr);
  }
}

}  // namespace levin::optim
