#include <levin/modules/nn/configured_optimizer.h>

#include <utility>

namespace levin {

OptimizerConfig configured_optimizer(const ClassChoice<optim::OptimizerKind>& optimizer,
                                     const ClassChoice<LRSchedulerKind>& lr_scheduler, const torch::nn::Module& module,
                                     const ParameterGroups& groups) {
  auto made = make_grouped_optimizer(optimizer, module, groups);
  if (!lr_scheduler) return made;
  return {std::move(made), lr_scheduler.make("model.lr_scheduler")};
}

}  // namespace levin
