#pragma once
#include <levin/trainer/options/placement.h>
#include <levin/trainer/run_folder/run_folder.h>
#include <levin/trainer/trainer.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

class Assembly;
class ProcessGroup;
class RunContext;
struct FoundCheckpoint;
struct RunInputs;

/// The results of levin::tune for a trainer, which its fits apply to the optimizers of configure_optimizers.
struct TuningOutcome {
  bool batch_size = false, lr_found = false;  ///< the search was made
  std::optional<double> lr = {};              ///< of the group with the largest rate; the others keep their ratio to it
  double lr_factor = 1;                       ///< for the rates of all groups
};

/// What a Trainer's calls do, and what the tuner and the program need besides.
class Trainer::Impl {
 public:
  Impl(PlacedOptions placed, bool is_for_trials);

  /// Returns the part of a trainer.
  static Impl& of(Trainer& trainer) { return *trainer.impl_; }
  static const Impl& of(const Trainer& trainer) { return *trainer.impl_; }
  /// Returns a trainer for options that are placed already. Throws as the constructor.
  static std::unique_ptr<Trainer> make(PlacedOptions placed);
  /// Returns a trainer for dry runs. It acts as rank 0 and starts no other rank; collectives return this rank's own
  /// tensors, so the trained weights are meaningless.
  static std::unique_ptr<Trainer> for_dry_run(TrainerOptions options);
  /// Returns a trainer for the trials of levin::tune, on the same devices. Its fits write and print nothing, call only
  /// `callbacks`, do not step schedulers, and end when a callback asks for it.
  std::unique_ptr<Trainer> for_trials(const std::vector<CallbackEntry>& callbacks,
                                      const std::function<void(TrainerOptions&)>& change) const;

  /// Throws levin::UsageError if the placement needs ranks that nobody has started. Prints the options' warnings,
  /// unless each run is to have them alone.
  void check_ranks_and_warn() const;
  bool is_global_zero() const { return !placement.environment || placement.environment->rank == 0; }
  RunResult fit(Trainer& trainer, ModuleRef module, const RunInputs& inputs);
  std::vector<Metrics> evaluate(ModuleRef module, const RunInputs& inputs, Stage stage);
  std::vector<std::vector<Batch>> predict(ModuleRef module, const RunInputs& inputs);
  Session start(ModuleRef module, SessionOptions session);
  void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how);

  const ResolvedOptions options;
  const Placement placement;
  /// The results of levin::tune. Without them, fit throws if auto_lr_find or auto_scale_batch_size is set.
  TuningOutcome tuned = {};
  /// The config that fit writes to its files; if it is empty, the trainer's options and the module's hyperparameters.
  RunConfig config = {};
  bool prints_end = true;  ///< false: the caller prints how a fit ended
  ProfileTotals profile = {};

 private:
  void refuse_untuned() const;
  /// Returns the process group, joined at the first call; null without ddp or zero1.
  ProcessGroup* ranks();
  std::optional<FoundCheckpoint> find_for_evaluation(const std::string& ckpt_path, RunContext& run) const;

  bool is_for_trials_;
  std::shared_ptr<ProcessGroup> ranks_ = {};   ///< set once a run with ddp or zero1 has started
  std::shared_ptr<Assembly> newest_fit_ = {};  ///< its parts, kept after it has ended
};

}  // namespace levin
