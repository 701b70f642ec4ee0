#include <levin/modules/lr_schedulers/engine/cycled_momentum.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/group_options.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

namespace levin {

void set_cycled_momentum(torch::optim::Optimizer& optimizer, size_t group, double momentum, const char* scheduler) {
  torch::optim::OptimizerOptions& options = optimizer.param_groups()[group].options();
  if (auto* sgd = dynamic_cast<torch::optim::SGDOptions*>(&options))
    sgd->momentum(momentum);
  else if (auto* rmsprop = dynamic_cast<torch::optim::RMSpropOptions*>(&options))
    rmsprop->momentum(momentum);
  else if (auto* adam = dynamic_cast<torch::optim::AdamOptions*>(&options))
    std::get<0>(adam->betas()) = momentum;
  else if (auto* adamw = dynamic_cast<torch::optim::AdamWOptions*>(&options))
    std::get<0>(adamw->betas()) = momentum;
  else if (auto* ours = dynamic_cast<optim::AnyGroupOptions*>(&options); !ours || !ours->set_momentum(momentum))
    throw UsageError(scheduler,
                     ".cycle_momentum: the optimizer has neither momentum nor betas; set cycle_momentum to false");
}

}  // namespace levin
