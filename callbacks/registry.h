#pragma once
#include <levin/callbacks/callback.h>
#include <levin/callbacks/callback_list.h>
#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace levin {

/// Callbacks by name: `"callbacks": [{"class": "EarlyStopping", "monitor": "val_loss"}]`.
struct CallbackKind {
  using Entry = std::function<CallbackEntry(const void* options)>;
  static Registry<Entry>& registry();
};

/// Adds callback class `C`, constructed from its nested `Options` if it has one, otherwise default-constructed.
template <std::derived_from<Callback> C>
bool add_callback(Registry<CallbackKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<OptionsOf<C>>(
      name, help, [](const void* options) -> CallbackEntry { return std::shared_ptr<C>(make_registered<C>(options)); });
  return true;
}

}  // namespace levin

/// Registers a callback class for configs. Use it at namespace scope in a .cpp; the name may be qualified.
#define LEVIN_REGISTER_CALLBACK(Class) \
  LEVIN_REGISTERED =                   \
      ::levin::add_callback<Class>(::levin::CallbackKind::registry(), ::levin::detail::unqualified(#Class))
