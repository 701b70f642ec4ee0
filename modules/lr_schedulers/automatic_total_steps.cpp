#include <levin/modules/lr_schedulers/automatic_total_steps.h>
#include <levin/trainer/core/error.h>

#include <algorithm>

namespace levin {

int64_t automatic_total_steps(const char* scheduler, const LRSchedulerConfig& own_config,
                              const LRSchedulerContext& context) {
  const LRSchedulerConfig& config = context.outer_config ? *context.outer_config : own_config;
  if (config.interval != "step")
    throw UsageError(scheduler,
                     ".total_steps: \"auto\" counts optimizer steps; set interval to \"step\", or total_steps to the "
                     "number of epochs");
  const std::optional<int64_t> steps = context.total_steps ? context.total_steps() : std::nullopt;
  if (!steps)
    throw UsageError(
        scheduler, ".total_steps: \"auto\" needs a run of known length; give a number, or set max_steps or max_epochs");
  return std::max<int64_t>(*steps / config.frequency, 1);
}

}  // namespace levin
