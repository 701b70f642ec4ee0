#pragma once
#include <levin/core/run/hooks.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace levin {

class Callback;

namespace detail {

/// Fails to compile if the callback class `C` has functions that hide those of Callback, which is complete by then.
template <class C, class Callback>
constexpr void refuse_hiding_callback() {
  LEVIN_REFUSE_HIDING(C, Callback, state_dict, "State state_dict() const")
  LEVIN_REFUSE_HIDING(C, Callback, load_state_dict, "void load_state_dict(const State&)")
  LEVIN_REFUSE_HIDING(C, Callback, state_key, "std::string state_key() const")
  LEVIN_REFUSE_HIDING(C, Callback, is_monitoring, "bool is_monitoring() const")
}

/// Returns the hooks of a callback: those that its class overrides, or the result of its own `HookMask hooks() const`.
template <class C>
HookMask hooks_of(const C& callback) {
  refuse_hiding_callback<C, Callback>();
  if constexpr (requires { HookMask(callback.hooks()); })
    return callback.hooks();
  else
    return overridden_hooks(callback);
}

}  // namespace detail

/// A callback, given by value or by shared_ptr, with the hooks that its class overrides.
struct CallbackEntry {
  template <class C>
    requires std::derived_from<C, Callback>
  CallbackEntry(C value) : CallbackEntry(std::make_shared<C>(std::move(value))) {}
  template <class C>
    requires std::derived_from<C, Callback>
  CallbackEntry(std::shared_ptr<C> pointer)
      : callback(pointer), hooks(pointer ? detail::hooks_of(*pointer) : HookMask()) {}

  std::shared_ptr<Callback> callback;  ///< a run refuses null
  HookMask hooks;
  std::string config = {};  ///< the JSON that the callback was made from, if it was chosen by name
};

}  // namespace levin
