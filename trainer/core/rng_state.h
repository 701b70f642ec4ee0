#pragma once
#include <levin/trainer/core/state.h>

namespace levin {

/// The state of LibTorch's default generators: {"cpu": uint8 tensor, "cuda": [uint8 tensors, one for each device]}.
State rng_state();

/// Puts such a state back. Generators of devices that this machine lacks are left out. Throws levin::UsageError where
/// the state is none of a generator's.
void load_rng_state(const State& state);

}  // namespace levin
