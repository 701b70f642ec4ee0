#pragma once
#include <levin/trainer/core/hooks.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace levin {

class Callback;

/// A callback, given by value or by shared_ptr, with the hooks that its class overrides.
struct CallbackEntry {
  template <class C>
    requires std::derived_from<C, Callback>
  CallbackEntry(C value) : callback(std::make_shared<C>(std::move(value))), hooks(overridden_hooks<C>()) {}
  template <class C>
    requires std::derived_from<C, Callback>
  CallbackEntry(std::shared_ptr<C> pointer) : callback(pointer), hooks(overridden_hooks(*pointer)) {}

  std::shared_ptr<Callback> callback;
  HookMask hooks;
  std::string config = {};  ///< the JSON that it was made from, where it was chosen by name
};

}  // namespace levin
