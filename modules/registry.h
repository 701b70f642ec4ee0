#pragma once
#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>
#include <levin/modules/lightning_module.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace levin {

/// Modules by name: "model" in a config. A module made by an entry records how to make another (see make_module).
struct ModuleKind {
  using Entry = std::function<std::shared_ptr<LightningModule>(const void* options)>;
  static Registry<Entry>& registry();
};

/// Adds module class `M`, which either has a nested `Options` and a constructor from it, or is default-constructed.
template <std::derived_from<LightningModule> M>
bool add_module(Registry<ModuleKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  using Options = OptionsOf<M>;
  registry.add<Options>(name, help, []([[maybe_unused]] const void* options) -> std::shared_ptr<LightningModule> {
    if constexpr (std::is_same_v<Options, NoOptions>)
      return make_module<M>();
    else
      return make_module<M>(*static_cast<const Options*>(options));
  });
  return true;
}

}  // namespace levin

/// Registers a module class for configs. Use it at namespace scope in a .cpp file; the name may be qualified.
///
///     LEVIN_REGISTER_MODULE(LitClassifier);      // {"model": {"class": "LitClassifier", "lr": 0.003}}
#define LEVIN_REGISTER_MODULE(Module) \
  LEVIN_REGISTERED = ::levin::add_module<Module>(::levin::ModuleKind::registry(), ::levin::detail::unqualified(#Module))
