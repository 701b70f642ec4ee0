#pragma once
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/optim/registry.h>
#include <levin/modules/optimizer_config.h>

#include <vector>

namespace levin {

/// The optimizer over `parameters`, and the schedule if one is set, that a module's options `model.optimizer` and
/// `model.lr_scheduler` choose. Throws levin::UsageError for options that do not fit.
OptimizerConfig configured_optimizer(const Part<optim::OptimizerKind>& optimizer,
                                     const Part<LRSchedulerKind>& lr_scheduler, std::vector<at::Tensor> parameters);

}  // namespace levin
