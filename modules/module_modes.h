#pragma once
#include <levin/core/state/state.h>

namespace levin {

class LightningModule;

/// Returns the state of a module that its state dict lacks: the names of the submodules in eval mode (during an
/// evaluation: before it) and of the frozen parameters: {"eval": [...], "frozen": [...]}.
State module_modes(const LightningModule& module);

/// Restores the modes of submodules and parameters from such a state.
void load_module_modes(LightningModule& module, const State& state);

}  // namespace levin
