#include <levin/modules/nn/configured_optimizer.h>

#include <utility>
#include <vector>

namespace levin {

OptimizerConfig configured_optimizer(const ClassChoice<optim::OptimizerKind>& optimizer,
                                     const ClassChoice<LRSchedulerKind>& lr_scheduler,
                                     std::vector<at::Tensor> parameters) {
  std::erase_if(parameters, [](const at::Tensor& parameter) { return !parameter.requires_grad(); });
  auto made = optim::make_optimizer(optimizer, "model.optimizer", std::move(parameters));
  if (!lr_scheduler) return made;
  return {std::move(made), lr_scheduler.make("model.lr_scheduler")};
}

}  // namespace levin
