#pragma once
#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>
#include <torch/nn/module.h>

#include <functional>
#include <string>

namespace levin {

/// The registry of adapters by name, for the option `adapter` of modules: what is trained in place of a module's own
/// weights, such as `{"class": "LoRA", "rank": 16}`. An entry freezes the module and adds its adapters.
struct AdapterKind {
  using Entry = std::function<void(const void* options, torch::nn::Module& module)>;
  static Registry<Entry>& registry();
};

/// Adds adapter class `A`, which is constructed from its nested `Options`, if it has some, and has
/// `void add_to(torch::nn::Module& module)`.
template <class A, class Options = OptionsOf<A>>
bool add_adapter(Registry<AdapterKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<Options>(name, help, [](const void* options, torch::nn::Module& module) {
    make_registered<A, Options>(options)->add_to(module);
  });
  return true;
}

}  // namespace levin

/// Registers an adapter for configs. Use it at namespace scope in a .cpp; the name may be qualified.
#define LEVIN_REGISTER_ADAPTER(Class) \
  LEVIN_REGISTERED = ::levin::add_adapter<Class>(::levin::AdapterKind::registry(), ::levin::detail::unqualified(#Class))
