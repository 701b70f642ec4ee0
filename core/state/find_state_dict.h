#pragma once
#include <levin/core/state/state.h>

namespace levin {

/// The key of the weights in a checkpoint of levin or PyTorch Lightning.
inline constexpr const char* kStateDict = "state_dict";

/// Returns the weights in such a checkpoint, a dict; null if `state` is none, as a file of weights alone.
inline const State* find_state_dict(const State& state) {
  const State* const weights = state.is_dict() ? state.find(kStateDict) : nullptr;
  return weights != nullptr && weights->is_dict() ? weights : nullptr;
}

}  // namespace levin
