#pragma once
#include <levin/data/data_module.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/core/log_sink.h>
#include <levin/trainer/options.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// How a fit ended.
struct RunResult {
  std::string status = {};       ///< "completed", or "stopped" where something asked the run to end early
  std::string stop_reason = {};  ///< of a stopped run
  int64_t epochs = 0;            ///< whole or begun
  int64_t global_step = 0;
  double wall_seconds = 0;
  Metrics metrics = {};                        ///< the last value of everything that was logged
  std::filesystem::path best_checkpoint = {};  ///< empty without checkpoints
  std::filesystem::path folder = {};           ///< the run's folder; empty with fast_dev_run and barebones
};

/// Trains, validates, tests and predicts with a LightningModule; everything else comes from TrainerOptions.
///
///     levin::Trainer trainer({.max_epochs = 5});
///     levin::RunResult result = trainer.fit(*model, data);
///
/// Modules and data modules stay with the caller, on the stack or wherever they are. Batches come from a data module,
/// from loaders, or from the module's own train_dataloader() and so on. An exception from a hook, a step or a loader
/// calls on_exception, keeps the logs, and is thrown on.
class Trainer {
 public:
  /// Throws levin::UsageError where an option is out of its limits, contradicts another, or cannot run yet.
  explicit Trainer(TrainerOptions options);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  RunResult fit(ModuleRef module, data::DataModuleRef data);
  RunResult fit(ModuleRef module, data::Loaders train = {}, data::Loaders validation = {});
  /// The metrics of each validation loader, by their names.
  std::vector<Metrics> validate(ModuleRef module, data::DataModuleRef data);
  std::vector<Metrics> validate(ModuleRef module, data::Loaders loaders = {});
  /// The metrics of each test loader, by their names.
  std::vector<Metrics> test(ModuleRef module, data::DataModuleRef data);
  std::vector<Metrics> test(ModuleRef module, data::Loaders loaders = {});
  /// What predict_step returned, by loader and batch.
  std::vector<std::vector<Batch>> predict(ModuleRef module, data::DataModuleRef data);
  std::vector<std::vector<Batch>> predict(ModuleRef module, data::Loaders loaders = {});

  /// With the early spellings resolved.
  const TrainerOptions& options() const { return options_; }
  /// What fit writes into the run's folder as config.json; by default the trainer's own options.
  void set_config(std::string json) { config_ = std::move(json); }

 private:
  struct Sources;
  RunResult run_fit(ModuleRef module, const Sources& sources);
  std::vector<Metrics> run_evaluation(ModuleRef module, const Sources& sources, Stage stage);
  std::vector<std::vector<Batch>> run_prediction(ModuleRef module, const Sources& sources);

  TrainerOptions options_;
  std::string config_ = {};
};

}  // namespace levin
