#pragma once
#include <levin/core/options/class_choice.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::optim {

/// Optimizers by name, for options such as `ClassChoice<optim::OptimizerKind> optimizer`.
///
/// An entry consists of an options struct and an optimizer class made from parameter groups and these options:
///
///     struct SGDOptions {
///       double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
///       double momentum = LEVIN_OPTION(momentum, 0, "Momentum", {.min = 0});
///     };
///     struct SGD : torch::optim::SGD { SGD(ParamGroups groups, SGDOptions options); };
///     add_optimizer<SGD, SGDOptions>(registry, "SGD", "Stochastic gradient descent");     // in register_builtins
///
/// A config's optimizer is then made by `optim::make_optimizer(options.optimizer, "model.optimizer", parameters())`.
struct OptimizerKind {
  using Entry = std::function<std::unique_ptr<torch::optim::Optimizer>(const void* options, ParamGroups groups)>;
  static Registry<Entry>& registry();
};

/// Adds an optimizer class that is constructed from parameter groups and `Options`.
template <class Optimizer, class Options>
bool add_optimizer(Registry<OptimizerKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<Options>(name, help, [](const void* options, ParamGroups groups) {
    return std::unique_ptr<torch::optim::Optimizer>(
        std::make_unique<Optimizer>(std::move(groups), *static_cast<const Options*>(options)));
  });
  return true;
}

/// Makes the optimizer that `part` selects, with one group of parameters; `path` is the option's path, for error
/// messages.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const ClassChoice<OptimizerKind>& part, const std::string& path,
                                                        std::vector<at::Tensor> parameters);

}  // namespace levin::optim
