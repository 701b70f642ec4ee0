#pragma once
#include <levin/core/run/callback_entry.h>
#include <levin/core/run/profiler.h>
#include <levin/core/run/stage.h>
#include <levin/data/data_module.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/trainer/checkpoint/optimizer_groups.h>
#include <levin/trainer/loggers/logger_collection.h>
#include <levin/trainer/options/resolved_options.h>
#include <levin/trainer/precision/precision_plugin.h>
#include <levin/trainer/run/hook_dispatch.h>
#include <levin/trainer/strategies/strategy.h>

#include <memory>
#include <optional>
#include <vector>

namespace levin {

/// The objects that a run is made of. Assembly makes them; everybody else only reads the list.
struct RunParts {
  const ResolvedOptions& options;
  ModuleRef module;
  std::optional<data::DataModuleRef> data_module;
  Strategy& strategy;
  PrecisionPlugin& precision;
  Stage stage;                 ///< Fit, Validate, Test or Predict
  bool trial = false;          ///< this is a tuning trial: a callback stops it and schedulers do not step
  bool channels_last = false;  ///< images lie in memory in the format channels_last
  Profiler* profiler = nullptr;

  HookDispatch hooks = {};
  std::vector<CallbackEntry> callbacks = {};
  std::shared_ptr<LoggerCollection> loggers = std::make_shared<LoggerCollection>();  ///< empty on ranks other than 0
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers = {};
  std::vector<GroupNames> optimizer_parameters = {};  ///< one per optimizer, as configure_optimizers made it
  std::vector<std::shared_ptr<LRScheduler>> schedulers = {};
  std::vector<LRSchedulerConfig> scheduler_configs = {};  ///< one per scheduler

  Comm& comm() const { return strategy.comm(); }
  /// Returns whether this process writes files and prints for all.
  bool is_rank_zero() const { return strategy.comm().is_global_zero(); }
  bool is_fit() const { return stage == Stage::Fit; }
};

}  // namespace levin
