#pragma once
#include <levin/trainer/checkpoint/contents.h>

#include <cstdint>
#include <functional>
#include <string>

namespace levin {

class Callback;
class RunContext;

/// Returns the checkpoint of a run: PyTorch Lightning's keys and, under "levin", the state that a bit-exact resume
/// needs (docs/checkpoints.md has the list). Tensors share the run's memory. `weights_only` keeps only weights,
/// hyperparameters and counters. If the strategy saves shards, what is divided among the ranks stays so. Collective:
/// all ranks call it.
CheckpointContents checkpoint_of(RunContext& run, bool weights_only);

/// The format version of the section "levin".
inline constexpr int64_t kCheckpointFormat = 1;

/// Calls `visit` for each of the run's callbacks with the key of its state; equal keys get a number.
void for_each_callback(RunContext& run, const std::function<void(const std::string& key, Callback& callback)>& visit);

}  // namespace levin
