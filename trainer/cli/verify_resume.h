#pragma once
#include <levin/trainer/cli/config.h>

#include <cstdint>
#include <ostream>

namespace levin::cli {

/// Trains `steps` optimizer steps of a config twice, once with a stop in the middle and a new module that goes on from
/// the checkpoint, and compares all that the two end with: weights, optimizers, schedulers, callbacks, random numbers,
/// positions of loaders, rows of the logs. Prints what differs, the first line naming the first. Nothing is left on
/// disk. Returns whether all is equal.
bool verify_resume(std::ostream& out, const Config& config, int64_t steps);

}  // namespace levin::cli
