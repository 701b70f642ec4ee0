#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/optim/engine/adam_rule.h>

#include <utility>

namespace levin::optim {

Adam::Adam(std::vector<at::Tensor> parameters, AdamOptions options)
    : Adam(detail::one_group(std::move(parameters)), std::move(options)) {}
Adam::Adam(ParamGroups groups, AdamOptions options) : OptimizerOf("Adam", groups, std::move(options)) {}

StateNames Adam::state_names() const { return detail::adam_state_names(); }

ParamState Adam::make_state(const AdamOptions& options, const Member& member) const {
  return detail::adam_state(*member.parameter, options.amsgrad);
}

void Adam::update_group(const AdamOptions& options, Members& members) {
  detail::step_adam(detail::adam_settings(options, options.decoupled_weight_decay), gradient_multiplier(),
                    captured_numbers(), members);
}

}  // namespace levin::optim
