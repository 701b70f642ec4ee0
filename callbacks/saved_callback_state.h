#pragma once

#include <levin/core/state/state.h>

#include <string>

namespace levin {

/// Returns what a checkpoint holds of the callback with this `Callback::state_key`; null if it holds nothing of it.
inline const State* saved_callback_state(const State& checkpoint, const std::string& state_key) {
  const State* const callbacks = checkpoint.find("callbacks");
  return callbacks != nullptr ? callbacks->find(state_key) : nullptr;
}

}  // namespace levin
