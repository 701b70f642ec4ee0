#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/modules/lr_schedulers/when_longer.h>

namespace levin {

/// Returns the number of steps of a scheduler in the whole run, the value of total_steps "auto". `own_config` applies
/// unless the scheduler is inside another. Throws levin::UsageError that names `scheduler` if it steps per epoch, or if
/// the length of the run is unknown.
int64_t automatic_total_steps(const char* scheduler, const LRSchedulerConfig& own_config,
                              const LRSchedulerContext& context);

/// Returns the total_steps of a schedule whose state is loaded: `saved` is the saved value, `planned` the value from
/// this run's options. If the run is longer, `when_longer` decides, and a message reports the outcome. Throws
/// levin::UsageError for Refuse if the schedule has ended at `last_epoch`.
int64_t continued_total_steps(const char* scheduler, int64_t saved, int64_t planned, int64_t last_epoch,
                              WhenLonger when_longer);

}  // namespace levin
