#pragma once
#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin::optim {

/// The registry of optimizers by name, for options such as `ClassChoice<optim::OptimizerKind> optimizer`:
/// `{"class": "SGD", "lr": 0.1}`. A config's optimizer is made by
/// `optim::make_optimizer(options.optimizer, "model.optimizer", parameters())`.
struct OptimizerKind {
  using Entry = std::function<std::unique_ptr<torch::optim::Optimizer>(const void* options, ParamGroups groups)>;
  static Registry<Entry>& registry();
};

/// Adds optimizer class `O`, which is constructed from parameter groups and its nested `Options`; if it has none, from
/// groups alone. OptimizerOf<Options> brings them.
template <class O, class Options = OptionsOf<O>>
bool add_optimizer(Registry<OptimizerKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<Options>(name, help, [](const void* options, ParamGroups groups) {
    return make_registered<O, Options>(options, std::move(groups));
  });
  return true;
}

/// Makes the optimizer that `part` selects, with one group of parameters; `path` is the option's path, for error
/// messages.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const ClassChoice<OptimizerKind>& part, const std::string& path,
                                                        std::vector<at::Tensor> parameters);

}  // namespace levin::optim

/// Registers an optimizer class for configs. Use it at namespace scope in a .cpp; the name may be qualified.
#define LEVIN_REGISTER_OPTIMIZER(Class)                                                              \
  LEVIN_REGISTERED = ::levin::optim::add_optimizer<Class>(::levin::optim::OptimizerKind::registry(), \
                                                          ::levin::detail::unqualified(#Class))
