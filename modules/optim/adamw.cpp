#include <levin/modules/optim/adamw.h>
#include <levin/modules/optim/adam_step.h>
#include <levin/modules/optim/parameter_groups.h>

namespace levin::optim {

AdamW::AdamW(std::vector<at::Tensor> parameters, AdamWOptions options)
    : AdamW(detail::one_group(std::move(parameters)), std::move(options)) {}

AdamW::AdamW(std::vector<torch::optim::OptimizerParamGroup> groups, AdamWOptions options)
    : torch::optim::AdamW(detail::checked_groups<torch::optim::AdamWOptions>("AdamW", groups),
                          detail::checked_adam_options<torch::optim::AdamWOptions>(options, "AdamW")) {
  detail::check_group_options<torch::optim::AdamWOptions>(
      "AdamW", param_groups(), detail::check_adam_group<AdamWOptions, torch::optim::AdamWOptions>);
}

at::Tensor AdamW::step(LossClosure closure) {
  return detail::adam_step<torch::optim::AdamWParamState, torch::optim::AdamWOptions>(*this, closure,
                                                                                      /*decoupled=*/true);
}

}  // namespace levin::optim
