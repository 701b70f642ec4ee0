#pragma once
#include <levin/trainer/core/state/state.h>

namespace levin {

class LightningModule;

/// What of a module no state dict holds: which submodules are in eval mode (in an evaluation: were, before it), and
/// which parameters require no gradient, by name: {"eval": [...], "frozen": [...]}.
State module_modes(const LightningModule& module);

/// Puts each submodule and parameter into the mode of such a state.
void load_module_modes(LightningModule& module, const State& state);

}  // namespace levin
