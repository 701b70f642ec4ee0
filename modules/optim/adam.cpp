#include <levin/modules/optim/adam.h>
#include <levin/modules/optim/adam_step.h>
#include <levin/modules/optim/parameter_groups.h>

namespace levin::optim {

Adam::Adam(std::vector<at::Tensor> parameters, AdamOptions options)
    : Adam(detail::one_group(std::move(parameters)), std::move(options)) {}

Adam::Adam(std::vector<torch::optim::OptimizerParamGroup> groups, AdamOptions options)
    : torch::optim::Adam(detail::checked_groups<torch::optim::AdamOptions>("Adam", groups),
                         detail::checked_adam_options<torch::optim::AdamOptions>(options, "Adam")) {
  detail::check_group_options<torch::optim::AdamOptions>(
      "Adam", param_groups(), detail::check_adam_group<AdamOptions, torch::optim::AdamOptions>);
}

at::Tensor Adam::step(LossClosure closure) {
  return detail::adam_step<torch::optim::AdamParamState, torch::optim::AdamOptions>(*this, closure,
                                                                                    /*decoupled=*/false);
}

}  // namespace levin::optim
