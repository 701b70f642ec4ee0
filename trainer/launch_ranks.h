#pragma once
#include <levin/trainer/core/process_group.h>
#include <levin/trainer/options.h>
#include <levin/trainer/placement.h>

#include <memory>
#include <optional>

namespace levin {

/// Where these options ask for several ranks that nobody has started: starts this very program once for each, watches
/// them until they have ended, and returns the exit code that this process is to end with. Nothing where this process
/// is to train itself. Throws levin::UsageError where ranks are not to be started (launcher none), or on several
/// machines without saying which this one is.
std::optional<int> launch_ranks(const TrainerOptions& given);

/// The ranks of a run under ddp; the trainers of a process share them while one of them lives.
std::shared_ptr<ProcessGroup> join_ranks(const Placement& placement, double timeout_seconds);

}  // namespace levin
