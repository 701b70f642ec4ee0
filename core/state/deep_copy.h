#pragma once
#include <levin/core/state/state.h>

namespace levin {

/// Returns a copy whose tensors have their own memory.
State deep_copy(const State& state);

}  // namespace levin
