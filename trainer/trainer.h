#pragma once
#include <levin/core/run/save_checkpoint_options.h>
#include <levin/data/data_module_ref.h>
#include <levin/data/loader.h>
#include <levin/modules/module_ref.h>
#include <levin/trainer/options/trainer_options.h>
#include <levin/trainer/run_folder/run_result.h>
#include <levin/trainer/session/session_options.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace levin {

class ResolvedOptions;
class Session;

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
  /// Throws levin::UsageError if an option is outside its limits, contradicts another, or cannot run yet, and if the
  /// options need several ranks that nobody has started: levin::launch (trainer/launch.h) starts them.
  explicit Trainer(TrainerOptions given);
  ~Trainer();
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
  /// given by a shared_ptr. Include <levin/trainer/session/session.h>, levin.h or lightning.h.
  Session start(ModuleRef module, SessionOptions options = {});

  /// Saves a checkpoint. Inside a hook of a fit, it is saved at the next save point (see Run::save_checkpoint). After a
  /// fit, the state at the fit's end is saved at once; the module must still exist. Throws levin::UsageError before the
  /// first fit, and if the file cannot be written.
  void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how = {});

  /// Returns whether this is rank 0, which writes files and prints for all ranks; true if there is one process.
  bool is_global_zero() const;
  const ResolvedOptions& options() const;
  /// Returns what the option `profiler` measured in the newest call of fit, validate, test or predict that ended in
  /// order, on this rank; empty without a profiler.
  const ProfileTotals& profile() const;

  /// For the library's own tuner and program (trainer_impl.h).
  class Impl;

 private:
  explicit Trainer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace levin
