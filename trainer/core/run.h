#pragma once
#include <c10/core/Device.h>
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/log_sink.h>
#include <levin/trainer/core/trainer_state.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin {

class Batch;
class LightningModule;
class LRScheduler;
struct StepOutput;
namespace data {
class DataModule;
}

/// What a checkpoint holds, and what becomes of other files once it is whole.
struct SaveCheckpointOptions {
  bool weights_only = false;                            ///< weights, counters and hyperparameters alone
  std::filesystem::path link_as = {};                   ///< a second name for the file, such as last.ckpt
  std::vector<std::filesystem::path> then_remove = {};  ///< files that go
};

/// A run (fit, validate, test or predict) as callbacks and modules see it.
///
/// It lives from before `setup` until after `teardown`; keep no reference to it beyond that.
class Run {
 public:
  virtual ~Run() = default;

  virtual const TrainerState& state() const = 0;
  virtual LightningModule& module() = 0;
  /// Null where the run has loaders but no data module.
  virtual data::DataModule* data_module() = 0;
  virtual c10::Device device() const = 0;
  virtual Comm& comm() = 0;
  /// The run's folder (DESIGN: `<default_root_dir>/<name>/version_<n>`); empty where the run writes none.
  virtual const std::filesystem::path& folder() const = 0;

  /// True during Trainer::fit, also in the validations inside it.
  virtual bool fitting() const = 0;
  /// The batch at hand, in batch hooks; throws levin::Error elsewhere.
  virtual const Batch& batch() const = 0;
  /// Index of the batch at hand in its loader and epoch.
  virtual int64_t batch_idx() const = 0;
  /// Index of the evaluation loader at hand.
  virtual int64_t dataloader_idx() const = 0;
  /// What training_step returned (on_train_batch_end, on_after_backward, ...); throws levin::Error elsewhere.
  virtual const StepOutput& output() const = 0;
  /// What predict_step returned (on_predict_batch_end); throws levin::Error elsewhere.
  virtual const Batch& prediction() const = 0;

  /// Epochs after which fit ends; unset without limit.
  virtual std::optional<int64_t> max_epochs() const = 0;
  /// Batches of the loader at hand per epoch, limits applied; unset where the loader does not know.
  virtual std::optional<int64_t> num_batches() const = 0;

  /// Optimizer steps of the whole fit, as PyTorch Lightning's estimated_stepping_batches; unset where it has no known
  /// end. Before training begins, asking makes the training loader, and is a collective: all ranks ask together.
  virtual std::optional<int64_t> estimated_stepping_batches() = 0;
  /// False where validation runs inside epochs, or not in every one; true where nothing is validated.
  virtual bool validates_once_per_epoch() const = 0;

  /// Empty outside fit. A checkpoint's on_load_checkpoint comes before configure_optimizers: asked there, it is called
  /// now.
  virtual const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() = 0;
  virtual const std::vector<std::shared_ptr<LRScheduler>>& lr_schedulers() = 0;

  /// The newest value of every logged metric, as of the last log point or epoch's end.
  virtual const Metrics& metrics() const = 0;
  /// The newest value of those logged with prog_bar.
  virtual const Metrics& progress_bar_metrics() const = 0;
  /// The newest value of one metric over all ranks, read from the device now (a host sync); unset where it was never
  /// logged. A collective: all ranks call it together.
  virtual std::optional<double> metric(const std::string& name) const = 0;

  /// The first optimizer step whose loss was NaN or infinite; of losses on a GPU as of the last log point.
  virtual std::optional<int64_t> non_finite_step() const = 0;

  virtual void log(const std::string& name, double value, LogOptions options = {}) = 0;
  /// Asks the run to end after the window at hand, once min_epochs and min_steps are reached; the first reason is kept.
  virtual void request_stop(const std::string& reason) = 0;
  /// Saves a checkpoint at the next point from which a run can go on to the bit: when the hooks of the batch at hand
  /// are done, of an evaluation batch, of a validation's or an epoch's end. A relative `path` is below the run's
  /// checkpoint_folder. The file is written while training goes on; what goes wrong is thrown at a later batch.
  /// Where there are several ranks, all must ask in the same batch: not in on_before_backward and on_after_backward if
  /// a rank's batch may weigh nothing, since those hooks are then not called.
  virtual void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions options = {}) = 0;
  /// Whether the run was continued from a checkpoint, in the folder of the run that wrote it.
  virtual bool continues_in_folder() const = 0;
  /// The checkpoint that the run was resumed from, where it is not the run's own to replace; else empty.
  virtual const std::filesystem::path& resumed_from() const = 0;
  /// `checkpoints` in the run's folder, or in the working directory where there is none.
  virtual std::filesystem::path checkpoint_folder() const = 0;
  /// Changes the number of micro-batches per optimizer step, from the next window on; at least 1.
  virtual void set_accumulate_grad_batches(int64_t k) = 0;
};

}  // namespace levin
