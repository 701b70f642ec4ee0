#pragma once
#include <levin/trainer/core/process_group.h>
#include <levin/trainer/options.h>
#include <levin/trainer/placement.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace levin {

class RunContext;
struct TrainerState;

/// Where these options ask for several ranks that nobody has started, as their placement says: starts this very program
/// once for each, watches them until they have ended, and returns the exit code that this process is to end with.
/// Nothing where this process is to train itself. Throws levin::UsageError where ranks are not to be started (launcher
/// none), or on several machines without saying which this one is.
std::optional<int> launch_ranks(const TrainerOptions& given, const Placement& placement);

/// The ranks of a run under ddp; the trainers of a process share them while one of them lives.
std::shared_ptr<ProcessGroup> join_ranks(const Placement& placement, const TrainerOptions& options);

/// Compares the run's program and config over the ranks, which would wait for each other, or train something else.
/// Throws levin::UsageError with the first difference from rank 0's.
void check_same_run(const RunContext& run);

/// Where a run was, for its last message: " (in step 12, batch 3 of epoch 1)".
std::string place_in(const TrainerState& counters);

/// What this rank said to the others last, into the run's folder: for those who look for the reason.
void write_newest_calls(const ProcessGroup& ranks, const std::filesystem::path& folder);

}  // namespace levin
