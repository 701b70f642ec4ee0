#pragma once
#include <levin/trainer/core/state.h>

#include <cstdint>
#include <functional>
#include <string>

namespace levin {

class Callback;
class RunContext;

/// What a checkpoint holds of a run: PyTorch Lightning's keys, and under "levin" what going on to the bit needs
/// (docs/checkpoints.md has the list). Tensors share the run's memory. Called by all ranks together; `weights_only`
/// leaves out all but weights, hyperparameters and counters.
State checkpoint_of(RunContext& run, bool weights_only);

/// The version of what stands under "levin".
inline constexpr int64_t kCheckpointFormat = 1;

/// The run's callbacks by the keys of their states; several of one key are told apart by their number.
void for_each_callback(RunContext& run, const std::function<void(const std::string& key, Callback& callback)>& visit);

}  // namespace levin
