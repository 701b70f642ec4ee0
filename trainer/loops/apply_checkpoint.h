#pragma once
#include <levin/trainer/core/state.h>

#include <string>

namespace levin {

class RunContext;

/// Shows the checkpoint of `file` to the on_load_checkpoint hooks, before anything is taken from it and, in a fit,
/// before there are optimizers: a module whose parameters change size can give them the checkpoint's. Throws
/// levin::UsageError, naming the file, where it is no checkpoint, or in a fit none that a run can go on from.
void announce_checkpoint(RunContext& run, const State& checkpoint, const std::string& file);

/// Puts a run that has its module, optimizers, schedulers and loggers where the checkpoint of `file` stands, be it
/// levin's or PyTorch Lightning's; after announce_checkpoint. The positions of the loaders and the random numbers are
/// left in `run.resume` for the loops. `goes_on`: the run that wrote it did not end in order, so that a request to stop
/// is still to be met. Throws levin::UsageError, naming the file, where it is of another network or optimizer, or
/// cannot be resumed from.
void apply_checkpoint(RunContext& run, const State& checkpoint, const std::string& file, bool goes_on);

/// Puts the weights of a checkpoint alone into the run's module, for evaluation; after announce_checkpoint.
void apply_weights(RunContext& run, const State& checkpoint, const std::string& file);

}  // namespace levin
