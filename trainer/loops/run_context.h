#pragma once
#include <levin/data/data_module.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/assembly/run_folder.h>
#include <levin/trainer/checkpoint/checkpoint_writer.h>
#include <levin/trainer/checkpoint/save_request.h>
#include <levin/trainer/core/device/rng_state.h>
#include <levin/trainer/core/run/run.h>
#include <levin/trainer/loggers/logger.h>
#include <levin/trainer/logging/loss_watch.h>
#include <levin/trainer/logging/metric_sink.h>
#include <levin/trainer/loops/hook_dispatch.h>
#include <levin/trainer/loops/step_parts.h>
#include <levin/trainer/precision/precision_plugin.h>
#include <levin/trainer/strategies/strategy.h>
#include <levin/trainer/trainer_options.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

class TrainingStep;

/// The current run: the state that the loops share, and the Run that hooks see. Trainer makes one for each call of fit,
/// validate, test or predict.
class RunContext final : public Run {
 public:
  /// All references must outlive the run. The module sees the run until `end` or the destructor.
  RunContext(const TrainerOptions& options_, ModuleRef module, std::optional<data::DataModuleRef> data_module,
             Strategy& strategy_, PrecisionPlugin& precision_, Stage stage);
  ~RunContext() override;

  // --- Run ---
  const TrainerState& state() const override { return counters; }
  LightningModule& module() override { return *module_.module; }
  data::DataModule* data_module() override { return data_module_ ? data_module_->module : nullptr; }
  c10::Device device() const override { return strategy.device(); }
  Comm& comm() override { return strategy.comm(); }
  const std::filesystem::path& folder() const override { return run_folder.path(); }
  bool fitting() const override { return fitting_; }
  const Batch& batch() const override;
  int64_t batch_idx() const override { return current_batch_idx; }
  int64_t dataloader_idx() const override { return step_context.dataloader_idx; }
  const StepOutput& output() const override;
  const Batch& prediction() const override;
  std::optional<int64_t> max_epochs() const override { return epoch_limit; }
  std::optional<int64_t> num_batches() const override { return batches_of_loader; }
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() override;
  const std::vector<std::shared_ptr<LRScheduler>>& lr_schedulers() override;
  const Metrics& metrics() const override { return sink.all(); }
  const Metrics& progress_bar_metrics() const override { return sink.progress_bar(); }
  std::optional<double> metric(const std::string& name) const override { return sink.newest(name); }
  void log(const std::string& name, double value, LogOptions how = {}) override { sink.log(name, value, how); }
  std::optional<int64_t> non_finite_step() const override { return loss_watch.first_step(); }
  std::optional<int64_t> estimated_stepping_batches() override { return total_steps ? total_steps() : std::nullopt; }
  bool validates_once_per_epoch() const override;
  void request_stop(const std::string& reason) override;
  void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) override;
  bool continues_in_folder() const override { return run_folder.is_resumed(); }
  const std::filesystem::path& resumed_from() const override { return resumed_file; }
  std::filesystem::path checkpoint_folder() const override;
  void set_accumulate_grad_batches(int64_t k) override;

  // --- for the loops ---
  /// The parts that a training step works with.
  StepParts step_parts();
  const ModuleOverrides& overrides() const { return module_.overrides; }
  /// Moves a batch to the device in the run's memory format, through overridden transfer hooks of the data module or
  /// the module.
  Batch to_device(Batch batch);
  /// Sends a row to the loggers; a no-op if `values` is empty.
  void log_row(const Metrics& values);
  double wall_seconds() const;
  /// Makes wall_seconds() continue from `seconds`, the total of earlier sessions.
  void begin_wall_seconds_at(double seconds);
  /// Saves the requested checkpoints. The loops call it at positions from which a run can resume. Throws the error of
  /// an earlier save, unless checkpoint_errors is "warn". Collective: all ranks call it.
  void save_if_asked() {
    if (!save_requests_.empty() || writer.has_failed()) save_now();
  }
  /// The same for places where some ranks may lack the request because they had no batch. Sends a message to all ranks.
  void save_if_any_rank_asks();
  /// Saves the checkpoints that on_exception hooks requested. The current accumulation window is dropped, and a resume
  /// skips the batch that failed.
  void save_after_exception();
  /// Detaches the module from the run. The state can still be saved.
  void end();
  bool has_ended() const { return ended_; }
  /// The run's random number state, also after the run, when the program's own is restored.
  State rng() const { return rng_at_end_ ? *rng_at_end_ : rng_state(); }
  /// Waits until all checkpoints are written. Throws like save_if_asked.
  void finish_saves();
  /// Returns whether the run is to stop, the same on all ranks. `stop_reason` may still be set on this rank only.
  bool stops() const { return strategy.comm().world_size() > 1 ? stop_agreed : stop_reason.has_value(); }
  /// Shards the loaders across ranks if use_distributed_sampler is set.
  void divide_among_ranks(const data::Loaders& loaders) const;
  /// Converts `k` micro-batches per step, as options and callbacks give it, to the present number of ranks: with
  /// keep_global_batch that number may have changed since the run started. Throws levin::UsageError if the result is no
  /// whole number.
  int64_t accumulation_on_these_ranks(int64_t k) const;
  bool is_rank_zero() const { return strategy.comm().rank() == 0; }
  /// Drops the current batch and the optimizer handles after an exception has left the loop.
  void leave_loop();
  /// Sets the stage and loader that the module sees.
  void enter(Stage stage, int64_t dataloader_idx);

  const TrainerOptions& options;
  Strategy& strategy;
  PrecisionPlugin& precision;
  TrainerState counters = {};
  HookDispatch hooks = {};
  MetricSink sink = {};
  LossWatch loss_watch = {};
  StepContext step_context = {};
  std::vector<std::shared_ptr<Logger>> loggers = {};
  RunFolder run_folder = {};
  RunConfig config = {};
  std::vector<CallbackEntry> callbacks = {};
  std::function<void()> configure_optimizers = {};  ///< makes the optimizers at the first call of optimizers()
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizer_list = {};
  std::vector<std::shared_ptr<LRScheduler>> scheduler_list = {};
  std::vector<LRSchedulerConfig> scheduler_configs = {};  ///< one per scheduler

  const Batch* current_batch = nullptr;
  int64_t current_batch_idx = 0;
  TrainingStep* step = nullptr;  ///< during fit
  const Batch* current_prediction = nullptr;
  std::optional<int64_t> epoch_limit = {};
  std::function<std::optional<int64_t>()> total_steps = {};  ///< optimizer steps of the whole fit
  std::optional<int64_t> batches_of_loader = {};
  std::optional<std::optional<int64_t>> train_batches = {};  ///< per training epoch; set once the loader exists
  std::optional<std::string> stop_reason = {};

  /// The factor of keep_global_batch for numbers of micro-batches: `first` / `second`.
  std::pair<int64_t, int64_t> accumulation_scale = {1, 1};

  CheckpointWriter writer = {};
  const data::Loaders* train_loaders = nullptr;
  const data::Loaders* evaluation_loaders = nullptr;
  bool stop_agreed = false;  ///< stop_reason is agreed on by all ranks
  bool trial = false;        ///< this is a tuning trial: a callback stops it and schedulers do not step
  bool resumed = false;
  std::filesystem::path resumed_file = {};  ///< given by the user; empty if the run continues in its folder
  bool said_optimizer_is_unknown = false;
  bool session_ends = false;         ///< the stop ends this process's session, not the run
  bool interrupted = false;          ///< a signal ended the current validation; its position is saved
  std::optional<State> resume = {};  ///< this rank's part of the checkpoint, from which the loops take positions

 private:
  void save_now();
  void report_failed_save(const std::exception& error) const;

  ModuleRef module_;
  bool fitting_;
  bool channels_last_;
  std::optional<data::DataModuleRef> data_module_;
  std::vector<SaveRequest> save_requests_ = {};
  bool ended_ = false;
  std::optional<State> rng_at_end_ = {};
  double seconds_before_ = 0;  ///< of earlier sessions
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace levin
