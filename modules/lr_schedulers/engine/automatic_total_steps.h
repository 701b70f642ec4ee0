#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// How often a scheduler steps in the whole run: what total_steps "auto" means. `own_config` counts unless the
/// scheduler is inside another. Throws levin::UsageError that names `scheduler` where it steps by epoch, or where the
/// run has no known length.
int64_t automatic_total_steps(const char* scheduler, const LRSchedulerConfig& own_config,
                              const LRSchedulerContext& context);

/// The total_steps of a schedule whose state is loaded: `saved` is what it was made for, `planned` what this run's
/// options say. Where the run is longer, `when_longer` ("refuse", "hold" or "stretch") decides, and it is said what
/// becomes of the schedule. Throws levin::UsageError for "refuse" where the schedule, at `last_epoch`, is at its end.
int64_t continued_total_steps(const char* scheduler, int64_t saved, int64_t planned, int64_t last_epoch,
                              const std::string& when_longer);

}  // namespace levin
