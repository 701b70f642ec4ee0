#pragma once
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/optim/registry.h>
#include <levin/modules/optimizer_config.h>

#include <vector>

namespace levin {

/// Makes the optimizer for `parameters`, and the schedule if one is set, selected by a module's options
/// `model.optimizer` and `model.lr_scheduler`. Throws levin::UsageError for invalid options.
OptimizerConfig configured_optimizer(const ClassChoice<optim::OptimizerKind>& optimizer,
                                     const ClassChoice<LRSchedulerKind>& lr_scheduler,
                                     std::vector<at::Tensor> parameters);

}  // namespace levin
