#pragma once
#include <levin/core/state/state.h>

#include <cstdint>
#include <filesystem>

namespace levin {

/// Writes a state as a sharded checkpoint with `ranks` parts (checkpoint_parts.h): weights, and the optimizers' state
/// of each parameter, are divided; the rest is in the index. The parts come first, and the index last. Throws as
/// save_state.
void save_sharded_state(const State& state, const std::filesystem::path& path, int64_t ranks);

}  // namespace levin
