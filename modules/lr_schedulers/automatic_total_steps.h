#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// How often a scheduler steps in the whole run: what total_steps "auto" means. `own_config` counts unless the
/// scheduler is inside another. Throws levin::UsageError that names `scheduler` where it steps by epoch, or where the
/// run has no known length.
int64_t automatic_total_steps(const char* scheduler, const LRSchedulerConfig& own_config,
                              const LRSchedulerContext& context);

}  // namespace levin
