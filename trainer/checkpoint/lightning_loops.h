#pragma once
#include <levin/core/run/trainer_state.h>

#include <cstdint>
#include <optional>

namespace levin {

/// Returns the counters of a run in the layout of "loops" in a PyTorch Lightning checkpoint, from which Lightning's
/// Trainer can resume. `optimizers`: their number; PyTorch Lightning counts the steps of each.
/// Source: lightning.pytorch.loops
State lightning_loops(const TrainerState& state, int64_t optimizers);

/// Return PyTorch Lightning's global_step and epoch for such a checkpoint.
int64_t lightning_global_step(const TrainerState& state, int64_t optimizers);
int64_t lightning_epoch(const TrainerState& state);

/// Returns the counters of a PyTorch Lightning checkpoint. Samples and seconds, which Lightning does not count, are 0.
/// Throws levin::UsageError if `checkpoint` has no "loops" (a file from before version 1.5).
TrainerState state_of_lightning(const State& checkpoint, int64_t optimizers);

}  // namespace levin
