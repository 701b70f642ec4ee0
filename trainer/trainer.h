#pragma once
#include <levin/core/run/log_sink.h>
#include <levin/core/run/run.h>
#include <levin/data/data_module.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/options/placement.h>
#include <levin/trainer/options/resolved_options.h>
#include <levin/trainer/run_folder/run_folder.h>
#include <levin/trainer/run_folder/run_result.h>
#include <levin/trainer/session/session.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

class RunContext;

/// The results of levin::tune for a trainer, which its fits apply to the optimizers of configure_optimizers.
struct TuningOutcome {
  bool batch_size = false, lr_found = false;  ///< the search was made
  std::optional<double> lr = {};              ///< of the group with the largest rate; the others keep their ratio to it
  double lr_factor = 1;                       ///< for the rates of all groups
};

class Assembly;
class ProcessGroup;
struct FoundCheckpoint;
struct RunInputs;

/// Trains, validates, tests and predicts with a LightningModule, configured by TrainerOptions.
///
///     levin::Trainer trainer({.max_epochs = 5});
///     levin::RunResult result = trainer.fit(*model, data);
///
/// The caller keeps ownership of modules and data modules. Batches come from a data module, from loaders, or from the
/// module's train_dataloader() and similar methods. If there is no training loader at all and max_steps or max_time is
/// set, training_step gets empty batches in one endless epoch, as from Session::step(). After an exception from a hook,
/// a step or a loader, the trainer calls on_exception, closes the logs and rethrows.
///
/// `ckpt_path` is a checkpoint of levin or PyTorch Lightning. fit resumes from it bit for bit; the other calls load
/// only its weights. Its values:
/// - a file
/// - a folder of a run or of checkpoints: the newest intact checkpoint in it; fit continues in that run's folder
/// - "last": the same for all runs below <default_root_dir>/<name>; fit starts from the beginning if there is none
/// - "best": the best checkpoint according to a ModelCheckpoint with a monitor
///
/// A fit that is restarted (max_restarts, torchrun, a requeued SLURM job) resumes from its own newest checkpoint,
/// whatever `ckpt_path` is.
class Trainer {
 public:
  /// Throws levin::UsageError if an option is outside its limits, contradicts another, or cannot run yet.
  ///
  /// If the options need several ranks that nobody has started yet (ddp, zero1), this process starts the same command
  /// line once per rank, waits for them, and exits with their exit code by std::exit, which runs no destructors of
  /// local objects. The code after the constructor runs only in the ranks. A program that calls levin::launch first
  /// leaves `main` in the ordinary way.
  explicit Trainer(TrainerOptions given);
  /// Returns a trainer for dry runs. It acts as rank 0 and starts no other rank; collectives return this rank's own
  /// tensors, so the trained weights are meaningless.
  static std::unique_ptr<Trainer> for_dry_run(TrainerOptions options);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  RunResult fit(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path = "");
  RunResult fit(ModuleRef module, data::Loaders train = {}, data::Loaders validation = {},
                const std::string& ckpt_path = "");
  /// Returns the metrics of each validation loader, by name.
  std::vector<Metrics> validate(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path = "");
  std::vector<Metrics> validate(ModuleRef module, data::Loaders loaders = {}, const std::string& ckpt_path = "");
  /// Returns the metrics of each test loader, by name.
  std::vector<Metrics> test(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path = "");
  std::vector<Metrics> test(ModuleRef module, data::Loaders loaders = {}, const std::string& ckpt_path = "");
  /// Returns the values of predict_step by loader and batch.
  std::vector<std::vector<Batch>> predict(ModuleRef module, data::DataModuleRef data,
                                          const std::string& ckpt_path = "");
  std::vector<std::vector<Batch>> predict(ModuleRef module, data::Loaders loaders = {},
                                          const std::string& ckpt_path = "");

  /// Begins a fit whose batches the caller hands over: places the module, makes optimizers and schedulers, opens the
  /// run's folder, and resumes from a checkpoint if one is given. The module must outlive the session, unless it was
  /// given by a shared_ptr.
  Session start(ModuleRef module, SessionOptions options = {});

  /// Saves a checkpoint. Inside a hook of a fit, it is saved at the next save point (see Run::save_checkpoint). After a
  /// fit, the state at the fit's end is saved at once; the module must still exist. Throws levin::UsageError before the
  /// first fit, and if the file cannot be written.
  void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how = {});

  /// Returns whether this is rank 0, which writes files and prints for all ranks; true if there is one process.
  bool is_global_zero() const { return !placement_.environment || placement_.environment->rank == 0; }
  const ResolvedOptions& options() const { return options_; }
  /// Returns what the option `profiler` measured in the newest call of fit, validate, test or predict that ended in
  /// order, on this rank; empty without a profiler.
  const ProfileTotals& profile() const { return profile_; }
  /// Returns a trainer for the trials of levin::tune, on the same devices. Its fits write and print nothing, call only
  /// the callbacks that `change` sets, do not step schedulers, and end when a callback asks for it.
  std::unique_ptr<Trainer> for_trials(const std::function<void(TrainerOptions&)>& change) const;
  /// Sets the results of levin::tune. Without them, fit throws if auto_lr_find or auto_scale_batch_size is set.
  void set_tuned(TuningOutcome tuned) { tuned_ = tuned; }
  const TuningOutcome& tuned() const { return tuned_; }
  /// Sets the config that fit writes to its files; by default the trainer's options and the module's hyperparameters.
  void set_config(RunConfig config) { config_ = std::move(config); }
  /// Lets the caller print how a fit ended; by default fit does.
  void leave_end_to_caller() { prints_end_ = false; }

 private:
  Trainer(ResolvedOptions options, Placement placement, bool trials);
  void refuse_untuned() const;
  /// Lets callbacks do what they do before a fit.
  void prepare(const ModuleRef& module, const RunInputs& inputs);
  /// Returns the process group, joined at the first call; null without ddp or zero1.
  ProcessGroup* ranks();
  std::optional<FoundCheckpoint> find_for_evaluation(const std::string& ckpt_path, RunContext& run) const;
  RunResult run_fit(ModuleRef module, const RunInputs& inputs);
  std::vector<Metrics> run_evaluation(ModuleRef module, const RunInputs& inputs, Stage stage);
  std::vector<std::vector<Batch>> run_prediction(ModuleRef module, const RunInputs& inputs);

  ResolvedOptions options_;
  Placement placement_;
  std::shared_ptr<ProcessGroup> ranks_ = {};  ///< set once a run with ddp or zero1 has started
  std::shared_ptr<Assembly> fit_ = {};        ///< the newest fit, kept after it has ended
  RunConfig config_ = {};
  bool trials_ = false, prints_end_ = true;
  TuningOutcome tuned_ = {};
  ProfileTotals profile_ = {};
};

}  // namespace levin
