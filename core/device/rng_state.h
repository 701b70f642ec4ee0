#pragma once
#include <ATen/core/Generator.h>
#include <levin/core/state/state.h>

namespace levin {

/// Returns the state of this thread's CPU generator (default_generator) and of LibTorch's default generators of GPUs:
/// {"cpu": uint8 tensor, "cuda": [uint8 tensors, one per device]}. The list is empty while CUDA is not in use.
State rng_state();

/// Restores such a state. Generators of devices that this machine lacks are skipped. Throws levin::UsageError if a
/// tensor is not a generator's state.
void load_rng_state(const State& state);
/// Does the same with `cpu` as the CPU generator.
void load_rng_state(const State& state, const at::Generator& cpu);

}  // namespace levin
