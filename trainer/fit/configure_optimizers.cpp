#include <levin/trainer/fit/configure_optimizers.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/optim/engine/learning_rate.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/trainer/options/optimizer_check.h>

namespace levin {
namespace {

void check_interval_of_run(const LRScheduler& scheduler, const LRSchedulerConfig& config,
                           const LightningModule& module) {
  check_interval(scheduler, config.interval);
  if (config.interval == Interval::Token && !module.automatic_optimization)
    throw UsageError(
        "lr_scheduler.interval: the module steps its schedulers itself (automatic_optimization = false); set it to "
        "step, and call scheduler.advance_to(tokens)");
}

}  // namespace

std::vector<optim::RowTracker> configure_optimizers(RunParts& parts, LightningModule& module, const FoundRate& found,
                                                    std::function<std::optional<int64_t>()> total_steps) {
  std::vector<optim::RowTracker> row_trackers;
  OptimizerConfig config =
      measured(parts.profiler, Action::ConfigureOptimizers, [&] { return module.configure_optimizers(); });
  for (OptimizerEntry& entry : config.entries) {
    if (!entry.optimizer)
      throw UsageError("configure_optimizers: optimizer ", parts.optimizers.size(),
                       " is a null pointer; return {} to train without an optimizer");
    parts.optimizers.push_back(entry.optimizer);
    row_trackers.emplace_back(*entry.optimizer);
  }
  for (size_t i = 0; i < parts.optimizers.size(); ++i)
    if (optim::detail::parameters_of(*parts.optimizers[i]).empty())
      console::warn(c10::str("configure_optimizers: optimizer ", i,
                             " has no parameters, so that it trains nothing; make "
                             "it with those of the module, after its parts are registered"));
  if (parts.optimizers.empty())
    console::warn("configure_optimizers returned no optimizer: the parameters will not change");
  for (const auto& optimizer : parts.optimizers) {
    check_optimizer(*optimizer, parts.options);
    if (found.lr) optim::set_lr(*optimizer, optim::lr_shares(*optimizer), *found.lr);
    if (found.factor != 1) optim::scale_lr(*optimizer, found.factor);
  }
  for (const auto& optimizer : parts.optimizers)
    parts.optimizer_parameters.push_back(names_of_groups(*optimizer, module));  // strategies replace the tensors
  parts.strategy.attach(parts.optimizers);
  parts.precision.attach(parts.optimizers);
  attach_adapters(module);  // strategies replace the memory of weights
  for (OptimizerEntry& entry : config.entries) {
    if (!entry.scheduler) continue;
    parts.schedulers.push_back(entry.scheduler->bind(*entry.optimizer, {.total_steps = total_steps}));
    parts.scheduler_configs.push_back(entry.scheduler->config);
    check_interval_of_run(*parts.schedulers.back(), entry.scheduler->config, module);
  }
  return row_trackers;
}

}  // namespace levin
