#pragma once
#include <levin/core/state/state.h>

#include <string>

namespace levin {

class RunContext;

/// Passes `checkpoint` to the on_load_checkpoint hooks before anything is loaded from it and, in a fit, before the
/// optimizers exist, so that a module can resize its parameters to match. Throws levin::UsageError, naming `file`, if
/// it is no checkpoint or, in a fit, one that a run cannot resume from.
void announce_checkpoint(RunContext& run, const State& checkpoint, const std::string& file);

/// Restores a run from a checkpoint of levin or PyTorch Lightning. Call it after announce_checkpoint, once the module,
/// optimizers, schedulers and loggers exist. The positions of the loaders and the random numbers are left in
/// the state's `resumption` for the loops. `goes_on`: the run that wrote the checkpoint is restarted or did not end in
/// order, so a saved stop request still holds. Throws levin::UsageError, naming `file`, if the checkpoint belongs to
/// another network or optimizer, or cannot be resumed from.
void apply_checkpoint(RunContext& run, const State& checkpoint, const std::string& file, bool goes_on);

/// Loads only the weights of a checkpoint into the run's module, for evaluation. Call it after announce_checkpoint.
void apply_weights(RunContext& run, const State& checkpoint, const std::string& file);

}  // namespace levin
