#pragma once
#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>
#include <levin/data/data_module.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace levin::data {

/// Data modules by name: "data" in a config. An entry makes a data module that remembers which methods its class
/// overrides.
struct DataModuleKind {
  using Entry = std::function<std::shared_ptr<DataModule>(const void* options)>;
  static Registry<Entry>& registry();
};

/// Adds data module class `D`, constructed from its nested `Options` if it has one, otherwise default-constructed.
template <std::derived_from<DataModule> D>
bool add_data_module(Registry<DataModuleKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<OptionsOf<D>>(name, help, [](const void* options) {
    std::unique_ptr<DataModule> made = make_registered<D>(options);
    ModuleAccess::remember(*made, overridden_by<D>());
    return made;
  });
  return true;
}

}  // namespace levin::data

/// Registers a data module class for configs. Use it at namespace scope in a .cpp; the name may be qualified.
#define LEVIN_REGISTER_DATA_MODULE(Class)                                                             \
  LEVIN_REGISTERED = ::levin::data::add_data_module<Class>(::levin::data::DataModuleKind::registry(), \
                                                           ::levin::detail::unqualified(#Class))
