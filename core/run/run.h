#pragma once
#include <c10/core/Device.h>
#include <levin/core/ranks/comm.h>
#include <levin/core/run/log_sink.h>
#include <levin/core/run/profiler.h>
#include <levin/core/run/save_checkpoint_options.h>
#include <levin/core/run/trainer_state.h>
#include <levin/core/state/state.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin {

class Batch;
struct CallbackEntry;
class LightningModule;
class LRScheduler;
struct StepOutput;
namespace data {
class DataModule;
}

/// A run (fit, validate, test or predict) as callbacks and modules see it.
///
/// It lives from before `setup` until after `teardown`; do not keep a reference to it beyond that.
class Run {
 public:
  virtual ~Run() = default;

  virtual const TrainerState& state() const = 0;
  virtual LightningModule& module() = 0;
  /// Returns the data module; null if the run has loaders only.
  virtual data::DataModule* data_module() = 0;
  virtual c10::Device device() const = 0;
  virtual Comm& comm() = 0;
  /// Returns the run's folder, `<default_root_dir>/<name>/version_<n>`; empty if the run writes none.
  virtual const std::filesystem::path& folder() const = 0;

  /// Returns the run's callbacks, in the order in which they are called.
  virtual const std::vector<CallbackEntry>& callbacks() const = 0;
  /// Returns true during Trainer::fit, including the validations inside it.
  virtual bool fitting() const = 0;
  /// Returns the current batch, in batch hooks; throws levin::Error elsewhere.
  virtual const Batch& batch() const = 0;
  /// Returns the index of the current batch in its loader and epoch.
  virtual int64_t batch_idx() const = 0;
  /// Returns the index of the current evaluation loader.
  virtual int64_t dataloader_idx() const = 0;
  /// Returns the output of training_step (on_train_batch_end, on_after_backward, ...); throws levin::Error elsewhere.
  virtual const StepOutput& output() const = 0;
  /// Returns the output of predict_step (on_predict_batch_end); throws levin::Error elsewhere.
  virtual const Batch& prediction() const = 0;

  /// Returns the number of epochs after which fit ends; unset if there is no limit.
  virtual std::optional<int64_t> max_epochs() const = 0;
  /// Returns the batches per epoch of the current loader, with limits applied; unset if the loader does not know its
  /// size.
  virtual std::optional<int64_t> num_batches() const = 0;

  /// Returns the optimizer steps of the whole fit, as PyTorch Lightning's estimated_stepping_batches; unset if fit has
  /// no known end. Before training starts, the call makes the training loader and is collective: all ranks call it.
  virtual std::optional<int64_t> estimated_stepping_batches() = 0;
  /// Returns false if validation runs inside epochs, or not in every epoch. Without validation loaders only the latter
  /// counts.
  virtual bool validates_once_per_epoch() const = 0;

  /// Returns the optimizers; empty outside fit. A checkpoint's on_load_checkpoint runs before configure_optimizers: a
  /// call there runs configure_optimizers at once.
  virtual const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() = 0;
  virtual const std::vector<std::shared_ptr<LRScheduler>>& lr_schedulers() = 0;

  /// Returns the latest value of every logged metric, as of the last log point or the end of the epoch.
  virtual const Metrics& metrics() const = 0;
  /// Returns the latest values of the metrics logged with prog_bar.
  virtual const Metrics& progress_bar_metrics() const = 0;
  /// Returns the latest value of one metric over all ranks, read from the device now (a host sync); unset if it was
  /// never logged. Collective: all ranks call it.
  virtual std::optional<double> metric(const std::string& name) const = 0;

  /// Returns the first optimizer step whose loss was NaN or infinite; for losses on a GPU as of the last log point.
  virtual std::optional<int64_t> non_finite_step() const = 0;

  virtual void log(const std::string& name, double value, LogOptions options = {}) = 0;
  /// Sends an image to the loggers that show images: [height, width] or [1 or 3, height, width], uint8, bool, or
  /// floating point from 0 (black) to 1 (white), on any device. Throws UsageError for another tensor.
  virtual void log_image(const std::string& name, const at::Tensor& image) = 0;
  /// Sends the distribution of a tensor's elements, of any real dtype and device, to the loggers that show
  /// histograms. Elements that are not finite do not count. Throws UsageError for a tensor that is undefined or
  /// complex.
  virtual void log_histogram(const std::string& name, const at::Tensor& values) = 0;
  /// Sends a text, which may be Markdown, to the loggers that show texts.
  virtual void log_text(const std::string& name, const std::string& text) = 0;
  /// Hands a file of the run to the loggers that keep files elsewhere. `folder` is the folder there; empty: the root.
  virtual void log_artifact(const std::filesystem::path& file, const std::string& folder = "") = 0;
  /// Returns the profiler of the run; null without one.
  virtual Profiler* profiler() const { return nullptr; }
  /// Measures an action of your own while the result lives: `const auto span = run.profile("augment");`. Without a
  /// profiler it costs a comparison.
  ProfileSpan profile(std::string_view action) const { return {profiler(), action}; }
  /// Returns whether min_epochs and min_steps are reached, by the end of this epoch if its last batch is done. A
  /// verdict that a later check may revise, such as EarlyStopping's, should not become a request before.
  virtual bool minimum_is_reached() const { return true; }
  /// Asks the run to end after the current window, once min_epochs and min_steps are reached; the first reason is kept.
  virtual void request_stop(const std::string& reason) = 0;
  /// Saves a checkpoint at the next point from which a run can resume bit for bit: when the hooks of the current train
  /// or evaluation batch, of a validation's end or of an epoch's end are done. A relative `path` is below the run's
  /// checkpoint_folder. The file is written while training continues; an error is thrown at a later batch. With several
  /// ranks, all must ask in the same batch. So do not ask in on_before_backward or on_after_backward if a rank's batch
  /// may have weight 0: these hooks are not called for it.
  virtual void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions options = {}) = 0;
  /// Returns a copy of the module's present weights as a checkpoint's `state_dict` has them, for a second set of
  /// weights in the checkpoint that on_save_checkpoint is called for: whole, on the rank that writes it, or with marks
  /// for what is divided among the ranks. Collective: all ranks call it.
  virtual State weights() = 0;
  /// Returns whether the run was resumed from a checkpoint and continues in the folder of the run that wrote it.
  virtual bool resumes_in_place() const = 0;
  /// Returns the checkpoint that the run was resumed from, if the run does not continue in that checkpoint's folder;
  /// else empty.
  virtual const std::filesystem::path& resumed_from() const = 0;
  /// Returns whether a resumed run takes the present options of its optimizers and schedulers, not the checkpoint's
  /// (resume_optimizer_options "present").
  virtual bool takes_present_options() const = 0;
  /// Returns the folder `checkpoints` in the run's folder, or in the working directory if there is none.
  virtual std::filesystem::path checkpoint_folder() const = 0;
  /// Changes the number of micro-batches per optimizer step (at least 1) from the next window on.
  virtual void set_accumulate_grad_batches(int64_t k) = 0;
};

}  // namespace levin
