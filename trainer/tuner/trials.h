#pragma once
#include <levin/core/device/rng_guard.h>
#include <levin/data/data_module.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/trainer.h>
#include <levin/trainer/tuner/module_snapshot.h>
#include <levin/trainer/tuner/trial_callback.h>

#include <functional>
#include <memory>
#include <optional>

namespace levin {

/// Trial fits of a few steps. After each one, module, optimizers, registered and logged metrics, data module, loaders
/// and random numbers are restored, also if it throws. Other state of the module is restored if its on_save_checkpoint
/// and on_load_checkpoint handle it.
class Trials {
 public:
  Trials(const Trainer& trainer, ModuleRef module, std::optional<data::DataModuleRef> data, data::Loaders train);

  /// Runs one fit with only `callback`, which must request the stop.
  void run(const std::shared_ptr<TrialCallback>& callback, const std::function<void(TrainerOptions&)>& change);

 private:
  class PutBack;
  const Trainer& trainer_;
  ModuleRef module_;
  std::optional<data::DataModuleRef> data_;
  data::Loaders train_;
  ModuleSnapshot snapshot_;
  TrialState state_ = {};
  State data_state_ = {};
  std::vector<State> loader_states_ = {};
};

}  // namespace levin
