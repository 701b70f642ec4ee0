#include <levin/modules/optim/engine/repeats_closure.h>
#include <torch/optim/lbfgs.h>

namespace levin::optim::detail {

bool repeats_closure(const torch::optim::Optimizer& optimizer) {
  return dynamic_cast<const torch::optim::LBFGS*>(&optimizer) != nullptr;
}

}  // namespace levin::optim::detail
