#include <levin/modules/optim/optimizers/adamw.h>
#include <levin/modules/optim/engine/adam_rule.h>

#include <utility>

namespace levin::optim {

AdamW::AdamW(std::vector<at::Tensor> parameters, AdamWOptions options)
    : AdamW(detail::one_group(std::move(parameters)), std::move(options)) {}
AdamW::AdamW(ParamGroups groups, AdamWOptions options) : OptimizerOf("AdamW", groups, std::move(options)) {}

StateNames AdamW::state_names() const { return detail::adam_state_names(); }

ParamState AdamW::make_state(const AdamWOptions& options, const Member& member) const {
  return detail::adam_state(*member.parameter, options.amsgrad);
}

void AdamW::update_group(const AdamWOptions& options, Members& members) {
  detail::step_adam(detail::adam_settings(options, /*decoupled=*/true), gradient_multiplier(), captured_numbers(),
                    members);
}

}  // namespace levin::optim
