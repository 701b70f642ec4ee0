#pragma once
#include <levin/program/config/config.h>

#include <cstdint>
#include <ostream>

namespace levin::cli {

/// Trains `steps` optimizer steps of a config twice, once with a stop in the middle and a new module that resumes from
/// the checkpoint, and compares the final states: weights, optimizers, schedulers, callbacks, random numbers, positions
/// of loaders, rows of the logs. Prints the differences. Leaves no files on disk. Returns whether everything is equal.
bool verify_resume(std::ostream& out, const Config& config, int64_t steps);

}  // namespace levin::cli
