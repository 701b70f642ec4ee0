#include <levin/modules/optim/registry.h>
#include <levin/modules/optim/optimizers/adadelta.h>
#include <levin/modules/optim/optimizers/adafactor.h>
#include <levin/modules/optim/optimizers/adagrad.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/optim/optimizers/adamax.h>
#include <levin/modules/optim/optimizers/adamw.h>
#include <levin/modules/optim/optimizers/asgd.h>
#include <levin/modules/optim/optimizers/lamb.h>
#include <levin/modules/optim/optimizers/lars.h>
#include <levin/modules/optim/optimizers/lbfgs.h>
#include <levin/modules/optim/optimizers/lion.h>
#include <levin/modules/optim/optimizers/muon.h>
#include <levin/modules/optim/optimizers/nadam.h>
#include <levin/modules/optim/optimizers/radam.h>
#include <levin/modules/optim/optimizers/rmsprop.h>
#include <levin/modules/optim/optimizers/rprop.h>
#include <levin/modules/optim/optimizers/schedule_free_adamw.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/optim/optimizers/sparse_adam.h>

namespace levin::optim {
namespace {

/// Registers levin's own optimizers.
void register_builtins(Registry<OptimizerKind::Entry>& registry) {
  add_optimizer<SGD>(registry, "SGD", "Stochastic gradient descent, with momentum where asked");
  add_optimizer<Adam>(registry, "Adam", "Adam");
  add_optimizer<AdamW>(registry, "AdamW", "Adam with decoupled weight decay");
  add_optimizer<Adamax>(registry, "Adamax", "Adam by the largest gradient");
  add_optimizer<NAdam>(registry, "NAdam", "Adam with Nesterov momentum");
  add_optimizer<RAdam>(registry, "RAdam", "Adam that warms itself up");
  add_optimizer<Adadelta>(registry, "Adadelta", "Adadelta");
  add_optimizer<RMSprop>(registry, "RMSprop", "RMSprop");
  add_optimizer<Adagrad>(registry, "Adagrad", "Adagrad");
  add_optimizer<Rprop>(registry, "Rprop", "Resilient backpropagation, for whole batches");
  add_optimizer<ASGD>(registry, "ASGD", "Averaged stochastic gradient descent");
  add_optimizer<Lion>(registry, "Lion", "The sign of an average of gradients");
  add_optimizer<Muon>(registry, "Muon",
                      "Orthogonalized momentum for the matrices of hidden layers, AdamW for the rest");
  add_optimizer<ScheduleFreeAdamW>(registry, "ScheduleFreeAdamW", "AdamW whose averages of weights replace a schedule");
  add_optimizer<SparseAdam>(registry, "SparseAdam", "Adam for sparse gradients, in C++ modules");
  add_optimizer<LAMB>(registry, "LAMB", "Adam with a rate for each tensor, for large batches");
  add_optimizer<LARS>(registry, "LARS", "SGD with a rate for each tensor, for large batches");
  add_optimizer<Adafactor>(registry, "Adafactor", "Adam in little memory");
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

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const ClassChoice<OptimizerKind>& part, const std::string& path,
                                                        std::vector<at::Tensor> parameters) {
  ParamGroups groups;
  groups.emplace_back(std::move(parameters));
  return part.make(path, std::move(groups));
}

}  // namespace levin::optim
