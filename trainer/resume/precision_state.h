#pragma once
#include <levin/core/state/state.h>

namespace levin {

class RunContext;

/// Writes the GradScaler's state under PyTorch Lightning's key, and master weights into the section "levin". A no-op
/// for a precision with neither.
void save_precision_state(RunContext& run, State& checkpoint);

/// Restores both; call it after the module's weights are loaded. Without saved master weights (PyTorch Lightning's
/// files have none) they are copied from the module.
void load_precision_state(RunContext& run, const State& checkpoint);

}  // namespace levin
