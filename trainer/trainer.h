#pragma once
#include <levin/data/data_module.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/core/log_sink.h>
#include <levin/trainer/core/run.h>
#include <levin/trainer/options.h>
#include <levin/trainer/placement.h>
#include <levin/trainer/run_folder.h>
#include <levin/trainer/run_result.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

class Comm;

/// What levin::tune has done for a trainer, and the rates that its fits give to what configure_optimizers returns.
struct Tuned {
  bool batch_size = false, lr_found = false;  ///< were looked for
  std::optional<double> lr = {};              ///< of the parameter group with the largest; the others keep their ratio
  double lr_factor = 1;                       ///< of all groups
};

class Assembly;
class ProcessGroup;
class RunContext;
struct FoundCheckpoint;

/// Trains, validates, tests and predicts with a LightningModule; everything else comes from TrainerOptions.
///
///     levin::Trainer trainer({.max_epochs = 5});
///     levin::RunResult result = trainer.fit(*model, data);
///
/// Modules and data modules stay with the caller, on the stack or wherever they are. Batches come from a data module,
/// from loaders, or from the module's own train_dataloader() and so on. An exception from a hook, a step or a loader
/// calls on_exception, keeps the logs, and is thrown on.
///
/// `ckpt_path` is a checkpoint of levin or PyTorch Lightning: fit goes on from it to the bit, the others take its
/// weights. It is a file; or a folder, of a run or of checkpoints: its newest whole one, and fit goes on in that run's
/// folder; or "last": the same for all runs below <default_root_dir>/<name> (fit begins anew where there is none); or
/// "best": the one that a ModelCheckpoint with a monitor holds for the best. A fit that is restarted (max_restarts,
/// torchrun, a SLURM job that is queued again) goes on from what it has saved itself, whatever `ckpt_path` says.
class Trainer {
 public:
  /// Throws levin::UsageError where an option is out of its limits, contradicts another, or cannot run yet.
  ///
  /// Where the options ask for several ranks that nobody has started yet (ddp), this process starts the same command
  /// line once for each of them, watches them, and exits with their exit code: what follows runs in the ranks.
  explicit Trainer(TrainerOptions options);
  /// A trainer that is rank 0 of all ranks that the options ask for, without the others: nothing is started, and what
  /// they would send is its own. For dry runs: what it trains is of no use.
  static std::unique_ptr<Trainer> for_plan(TrainerOptions options);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  RunResult fit(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path = "");
  RunResult fit(ModuleRef module, data::Loaders train = {}, data::Loaders validation = {},
                const std::string& ckpt_path = "");
  /// The metrics of each validation loader, by their names.
  std::vector<Metrics> validate(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path = "");
  std::vector<Metrics> validate(ModuleRef module, data::Loaders loaders = {}, const std::string& ckpt_path = "");
  /// The metrics of each test loader, by their names.
  std::vector<Metrics> test(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path = "");
  std::vector<Metrics> test(ModuleRef module, data::Loaders loaders = {}, const std::string& ckpt_path = "");
  /// What predict_step returned, by loader and batch.
  std::vector<std::vector<Batch>> predict(ModuleRef module, data::DataModuleRef data,
                                          const std::string& ckpt_path = "");
  std::vector<std::vector<Batch>> predict(ModuleRef module, data::Loaders loaders = {},
                                          const std::string& ckpt_path = "");

  /// Saves a checkpoint: in a hook of a fit at its next save point (see Run::save_checkpoint), after a fit at once, as
  /// that ended; its module must still live. Throws levin::UsageError before the first fit, and where it cannot be
  /// written.
  void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how = {});

  /// Whether this is the rank that writes and speaks for all; true where there is one process.
  bool is_global_zero() const { return !placement_.environment || placement_.environment->rank == 0; }
  /// With the early spellings resolved.
  const TrainerOptions& options() const { return options_; }
  /// A trainer for trials on the same devices: its fits write and say nothing, call no callbacks but those of `change`,
  /// hold schedulers still, and end when a callback asks for it. For levin::tune.
  std::unique_ptr<Trainer> for_trials(const std::function<void(TrainerOptions&)>& change) const;
  /// What levin::tune has found: the fits to come run though auto_lr_find or auto_scale_batch_size is set.
  void set_tuned(Tuned tuned) { tuned_ = tuned; }
  const Tuned& tuned() const { return tuned_; }
  /// What fit keeps as its config; by default the trainer's own options and the module's hyperparameters.
  void set_config(RunConfig config) { config_ = std::move(config); }

 private:
  struct Sources;
  Trainer(TrainerOptions resolved, Placement placement, bool trials);
  void refuse_untuned() const;
  /// The ranks of ddp, which meet at the first call; null without.
  ProcessGroup* ranks();
  std::optional<FoundCheckpoint> find_for_evaluation(const std::string& ckpt_path, Comm& comm) const;
  void set_config_of(RunContext& run) const;
  RunResult run_fit(ModuleRef module, const Sources& sources);
  std::vector<Metrics> run_evaluation(ModuleRef module, const Sources& sources, Stage stage);
  std::vector<std::vector<Batch>> run_prediction(ModuleRef module, const Sources& sources);

  TrainerOptions options_;
  Placement placement_;
  std::shared_ptr<ProcessGroup> ranks_ = {};  ///< of ddp, once a run has begun
  std::shared_ptr<Assembly> fit_ = {};        ///< the newest, also when it is over
  RunConfig config_ = {};
  bool trials_ = false;
  Tuned tuned_ = {};
};

}  // namespace levin
