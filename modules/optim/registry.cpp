#include <levin/modules/optim/registry.h>
#include <levin/modules/optim/adagrad.h>
#include <levin/modules/optim/adam.h>
#include <levin/modules/optim/adamw.h>
#include <levin/modules/optim/lbfgs.h>
#include <levin/modules/optim/rmsprop.h>
#include <levin/modules/optim/sgd.h>

namespace levin::optim {
namespace {

/// levin's own optimizers.
void register_builtins(Registry<OptimizerKind::Entry>& registry) {
  add_optimizer<SGD, SGDOptions>(registry, "SGD", "Stochastic gradient descent, with momentum where asked");
  add_optimizer<Adam, AdamOptions>(registry, "Adam", "Adam");
  add_optimizer<AdamW, AdamWOptions>(registry, "AdamW", "Adam with decoupled weight decay");
  add_optimizer<RMSprop, RMSpropOptions>(registry, "RMSprop", "RMSprop");
  add_optimizer<Adagrad, AdagradOptions>(registry, "Adagrad", "Adagrad");
  add_optimizer<LBFGS, LBFGSOptions>(registry, "LBFGS", "L-BFGS, which evaluates the loss many times in a step");
}

}  // namespace

Registry<OptimizerKind::Entry>& OptimizerKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("optimizer", "optimizers");
    register_builtins(made);
    return made;
  }();
  return registry;
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Part<OptimizerKind>& part, const std::string& path,
                                                        std::vector<at::Tensor> parameters) {
  ParamGroups groups;
  groups.emplace_back(std::move(parameters));
  return part.make(path, std::move(groups));
}

}  // namespace levin::optim
