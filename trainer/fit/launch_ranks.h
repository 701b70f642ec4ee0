#pragma once
#include <levin/core/ranks/process_group.h>
#include <levin/trainer/options/placement.h>
#include <levin/trainer/options/resolved_options.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace levin {

class RunContext;
struct TrainerState;

/// If `placement` needs several ranks that nobody has started: starts this program once per rank, waits until all have
/// ended, and returns the exit code for this process. Returns nullopt if this process is to train itself. Throws
/// levin::UsageError if `launcher` is "none", or if there are several machines and the environment does not tell which
/// one this is.
std::optional<int> launch_ranks(const ResolvedOptions& options, const Placement& placement);

/// Throws levin::UsageError if `placement` needs several ranks that nobody has started.
void refuse_missing_ranks(const ResolvedOptions& options, const Placement& placement);

/// Joins the process group of a ddp or zero1 run. All trainers of a process share one group while any of them lives.
std::shared_ptr<ProcessGroup> join_ranks(const Placement& placement, const ResolvedOptions& options);

/// Compares program and config across ranks: ranks that differ would hang or train something else. Throws
/// levin::UsageError with the first difference from rank 0. Collective: all ranks call it.
void check_same_run(const RunContext& run);

/// Returns the run's position for its last message: " (in step 12, batch 3 of epoch 1)".
std::string describe_position(const TrainerState& counters);

/// Writes this rank's newest collective calls into the run's folder, to help find why a rank was lost.
void write_newest_calls(const ProcessGroup& ranks, const std::filesystem::path& folder);

}  // namespace levin
