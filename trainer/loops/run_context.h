#pragma once
#include <levin/data/data_module.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/checkpoint/checkpoint_writer.h>
#include <levin/trainer/core/rng_state.h>
#include <levin/trainer/core/run.h>
#include <levin/trainer/loggers/logger.h>
#include <levin/trainer/loops/hook_dispatch.h>
#include <levin/trainer/loops/loss_watch.h>
#include <levin/trainer/loops/metric_sink.h>
#include <levin/trainer/loops/save_request.h>
#include <levin/trainer/options.h>
#include <levin/trainer/precision/precision_plugin.h>
#include <levin/trainer/run_folder.h>
#include <levin/trainer/strategies/strategy.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// The run at hand: what the loops share, and the Run that hooks see. Made by Trainer for one call of fit, validate,
/// test or predict.
class RunContext final : public Run {
 public:
  /// All references must outlive the run. The module sees the run until it is destroyed.
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
  const ModuleOverrides& overrides() const { return module_.overrides; }
  /// By way of the transfer hooks of data module or module, where one is overridden; in the run's memory format.
  Batch to_device(Batch batch);
  /// Sends a row to the loggers; nothing where `values` is empty.
  void log_row(const Metrics& values);
  double wall_seconds() const;
  /// Counts on from an earlier session's seconds.
  void begin_wall_seconds_at(double seconds);
  /// Saves the checkpoints that were asked for. The loops call it where a run can go on from; called by all ranks.
  /// Throws what an earlier save has failed with, unless checkpoint_errors is "warn".
  void save_if_asked() {
    if (!save_requests_.empty() || writer.has_failed()) save_now();
  }
  /// The same where some ranks may not have been asked, since they had no batch: a message to all ranks.
  void save_if_any_rank_asks();
  /// Saves what on_exception hooks asked for: the window at hand is given up, and the batch that failed is skipped.
  void save_after_exception();
  /// The module no longer sees the run, whose state can still be saved.
  void end();
  bool has_ended() const { return ended_; }
  /// The random numbers of the run, also when it is over and the program's own are back.
  State rng() const { return rng_at_end_ ? *rng_at_end_ : rng_state(); }
  /// Waits until all checkpoints are written; throws as save_if_asked.
  void finish_saves();
  /// Whether somebody asked for the end, on all ranks alike: `stop_reason` may still be this rank's own.
  bool stops() const { return strategy.comm().world_size() > 1 ? stop_agreed : stop_reason.has_value(); }
  /// Gives this rank its part of what the loaders give, where use_distributed_sampler is set.
  void divide_among_ranks(const data::Loaders& loaders) const;
  /// `k` micro-batches of a step, as options and callbacks mean it, on the ranks that there are: a run that keeps its
  /// global batch may have others than it began with. Throws levin::UsageError where that is no whole number.
  int64_t accumulation_on_these_ranks(int64_t k) const;
  bool is_rank_zero() const { return strategy.comm().rank() == 0; }
  /// Forgets the batch at hand and the optimizer handles, which end with the loop that an exception left.
  void leave_loop();
  /// Sets what the module sees as stage and loader.
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
  std::function<void()> configure_optimizers = {};  ///< until they are made: by the trainer, or earlier where asked
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizer_list = {};
  std::vector<std::shared_ptr<LRScheduler>> scheduler_list = {};
  std::vector<LRSchedulerConfig> scheduler_configs = {};  ///< one for each scheduler

  const Batch* current_batch = nullptr;
  int64_t current_batch_idx = 0;
  StepOutput* current_output = nullptr;
  const Batch* current_prediction = nullptr;
  std::optional<int64_t> epoch_limit = {};
  std::function<std::optional<int64_t>()> total_steps = {};  ///< optimizer steps of the whole fit
  std::optional<int64_t> batches_of_loader = {};
  std::optional<std::optional<int64_t>> train_batches = {};  ///< of a training epoch, once its loader was made
  std::optional<std::string> stop_reason = {};

  /// What keep_global_batch has made of numbers of micro-batches: they are times `first` and by `second`.
  std::pair<int64_t, int64_t> accumulation_scale = {1, 1};

  CheckpointWriter writer = {};
  const data::Loaders* train_loaders = nullptr;
  const data::Loaders* evaluation_loaders = nullptr;
  bool stop_agreed = false;  ///< by all ranks
  bool trial = false;        ///< of levin::tune: a callback ends it, schedulers hold still
  bool resumed = false;
  std::filesystem::path resumed_file = {};  ///< given by the user, unless the run goes on in its folder
  bool said_optimizer_is_unknown = false;
  bool session_ends = false;         ///< the stop is this process's alone, and not the run's
  bool interrupted = false;          ///< a signal ended the validation at hand, whose place is saved
  std::optional<State> resume = {};  ///< this rank's part of the checkpoint, for the loops to take positions from

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
