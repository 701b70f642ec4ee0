#pragma once
#include <levin/trainer/core/trainer_state.h>

#include <cstdint>
#include <optional>

namespace levin {

/// The counters of a run in the layout of a PyTorch Lightning checkpoint's "loops", from which its Trainer goes on.
/// `optimizers`: how many there are; PyTorch Lightning counts the steps of each. Source: lightning.pytorch.loops
State lightning_loops(const TrainerState& state, int64_t optimizers);

/// PyTorch Lightning's global_step and epoch of such a checkpoint.
int64_t lightning_global_step(const TrainerState& state, int64_t optimizers);
int64_t lightning_epoch(const TrainerState& state);

/// The counters that PyTorch Lightning's checkpoint stands for. Samples and seconds, which it does not count, are 0.
/// Throws levin::UsageError where `checkpoint` has no "loops" (a file of before version 1.5).
TrainerState state_of_lightning(const State& checkpoint, int64_t optimizers);

}  // namespace levin
