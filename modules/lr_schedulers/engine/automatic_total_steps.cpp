#include <levin/modules/lr_schedulers/engine/automatic_total_steps.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <string>

namespace levin {

int64_t automatic_total_steps(const char* scheduler, const LRSchedulerConfig& own_config,
                              const LRSchedulerContext& context) {
  const LRSchedulerConfig& config = context.outer_config ? *context.outer_config : own_config;
  if (config.interval == Interval::Token)
    throw UsageError(scheduler,
                     ".total_steps: \"auto\" counts optimizer steps, and this schedule counts tokens; set it to the "
                     "number of tokens of the run");
  if (config.interval != Interval::Step)
    throw UsageError(scheduler,
                     ".total_steps: \"auto\" counts optimizer steps; set interval to \"step\", or total_steps to the "
                     "number of epochs");
  const std::optional<int64_t> steps = context.total_steps ? context.total_steps() : std::nullopt;
  if (!steps)
    throw UsageError(
        scheduler, ".total_steps: \"auto\" needs a run of known length; give a number, or set max_steps or max_epochs");
  return std::max<int64_t>(*steps / config.frequency, 1);
}

int64_t continued_total_steps(const char* scheduler, int64_t saved, int64_t planned, int64_t last_epoch,
                              WhenLonger when_longer) {
  if (planned == saved) return saved;
  const std::string lengths = c10::str(scheduler, ": the schedule of the checkpoint is made for ", saved,
                                       " steps, this run's options for ", planned);
  if (planned < saved) {
    console::warn(lengths + "; it keeps its length, and is not at its end when the run is");
    return saved;
  }
  if (when_longer == WhenLonger::Stretch) {
    console::info(c10::str(lengths, "; from step ", last_epoch, " on it is that of ", planned));
    return planned;
  }
  if (when_longer == WhenLonger::Hold) {
    console::info(c10::str(lengths, "; it keeps its length, and the last rates stay from step ", saved, " on"));
    return saved;
  }
  const std::string choices =
      "when_longer \"hold\" keeps its last rates for the steps beyond, \"stretch\" continues along a schedule of the "
      "whole "
      "run; or begin a new run from the weights (model.weights)";
  if (last_epoch >= saved) throw UsageError(lengths, ", and it is at its end; choose what follows: ", choices);
  console::warn(lengths + "; it keeps its length, and the run ends with an error behind its last step; " + choices);
  return saved;
}

}  // namespace levin
