#pragma once
#include <levin/trainer/core/state.h>

namespace levin {

class RunContext;

/// Writes the GradScaler's state under PyTorch Lightning's key, and master weights beside levin's own state; nothing
/// for a precision that has neither.
void save_precision_state(RunContext& run, State& checkpoint);

/// Puts both back, after the module's weights. Without saved master weights they become the module's; PyTorch
/// Lightning's files hold none.
void load_precision_state(RunContext& run, const State& checkpoint);

}  // namespace levin
