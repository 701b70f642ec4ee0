#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/run/callback_entry.h>

#include <vector>

namespace levin {

/// Returns the callbacks that are a T, or derive from T beside Callback (FitControl, BeforeFit, StepFollower), in their
/// order.
template <class T>
std::vector<T*> callbacks_of(const std::vector<CallbackEntry>& callbacks) {
  std::vector<T*> found;
  for (const CallbackEntry& entry : callbacks)
    if (auto* const one = dynamic_cast<T*>(entry.callback.get())) found.push_back(one);
  return found;
}

}  // namespace levin
