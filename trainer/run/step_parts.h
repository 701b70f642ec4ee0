#pragma once
#include <levin/core/run/profiler.h>
#include <levin/core/run/run.h>
#include <levin/core/run/step_context.h>
#include <levin/core/run/trainer_state.h>
#include <levin/trainer/options/resolved_options.h>
#include <levin/trainer/precision/precision_plugin.h>
#include <levin/trainer/run/hook_dispatch.h>
#include <levin/trainer/strategies/strategy.h>

#include <memory>
#include <vector>

namespace levin {

/// The objects that a training step works with. All of them must outlive the step.
struct StepParts {
  const ResolvedOptions& options;
  LightningModule& module;
  const ModuleOverrides& overrides;  ///< of the module
  Strategy& strategy;
  PrecisionPlugin& precision;
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers;
  TrainerState& counters;
  const HookDispatch& hooks;
  Run& run;              ///< the run that hooks are given
  StepContext& context;  ///< the module's
  Profiler* profiler;    ///< null without one
};

}  // namespace levin
