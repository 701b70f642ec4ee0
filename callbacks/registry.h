#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/class_choice.h>

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
  using Options = OptionsOf<C>;
  registry.add<Options>(name, help, []([[maybe_unused]] const void* options) -> CallbackEntry {
    if constexpr (std::is_same_v<Options, NoOptions>)
      return std::make_shared<C>();
    else
      return std::make_shared<C>(*static_cast<const Options*>(options));
  });
  return true;
}

/// A list of callbacks, each by class name or as an object with "class". Callbacks made in C++ are shown by their type.
template <>
struct OptionTraits<std::vector<CallbackEntry>> {
  static const OptionType& type();
};

}  // namespace levin

/// Registers a callback class for configs. Use it at namespace scope in a .cpp; the name may be qualified.
#define LEVIN_REGISTER_CALLBACK(Class)                                              \
  [[maybe_unused]] static const bool LEVIN_CONCAT(levin_registered_, __COUNTER__) = \
      ::levin::add_callback<Class>(::levin::CallbackKind::registry(), ::levin::detail::unqualified(#Class))
