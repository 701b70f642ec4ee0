#pragma once
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/optim/registry.h>
#include <levin/modules/optimizer_config.h>

namespace levin {

/// Makes the optimizer for the parameters of `module` that are trained, and the schedule if one is set, selected by a
/// module's options `model.optimizer`, `model.lr_scheduler` and `model.parameter_groups`. Throws levin::UsageError for
/// invalid options.
OptimizerConfig configured_optimizer(const ClassChoice<optim::OptimizerKind>& optimizer,
                                     const ClassChoice<LRSchedulerKind>& lr_scheduler, const torch::nn::Module& module,
                                     const ParameterGroups& groups);

}  // namespace levin
