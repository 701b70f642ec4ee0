#pragma once
#include <levin/core/device/rng_state.h>
#include <levin/core/run/run.h>
#include <levin/core/run/step_context.h>
#include <levin/core/run/trainer_state.h>
#include <levin/trainer/checkpoint/checkpoint_saver.h>
#include <levin/trainer/logging/loss_watch.h>
#include <levin/trainer/logging/metric_sink.h>
#include <levin/trainer/run/accumulation_scale.h>
#include <levin/trainer/run/batch_transfer.h>
#include <levin/trainer/run/resumption.h>
#include <levin/trainer/run/run_clock.h>
#include <levin/trainer/run/run_parts.h>
#include <levin/trainer/run/step_parts.h>
#include <levin/trainer/run/stop_requests.h>
#include <levin/trainer/run_folder/run_folder.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace levin {

class BatchInHand;

/// The current run: the Run that hooks see, over the state that the loops share. Trainer makes one for each call of
/// fit, validate, test or predict.
class RunContext final : public Run {
 public:
  /// Returns the checkpoint of a run. Collective: all ranks call it.
  using CheckpointOf = std::function<CheckpointContents(RunContext& run, bool weights_only)>;

  /// `parts` must outlive the run. The module sees the run until `end` or the destructor.
  RunContext(const RunParts& parts, CheckpointOf checkpoint_of);
  ~RunContext() override;

  // --- Run ---
  const TrainerState& state() const override { return counters_; }
  LightningModule& module() override { return *parts_.module.module; }
  data::DataModule* data_module() override;
  c10::Device device() const override { return parts_.strategy.device(); }
  Comm& comm() override { return parts_.comm(); }
  const std::filesystem::path& folder() const override { return folder_.path(); }
  const std::vector<CallbackEntry>& callbacks() const override { return parts_.callbacks; }
  Profiler* profiler() const override { return parts_.profiler; }
  bool fitting() const override { return parts_.is_fit(); }
  const Batch& batch() const override;
  int64_t batch_idx() const override { return batch_idx_; }
  int64_t dataloader_idx() const override { return step_context_.dataloader_idx; }
  const StepOutput& output() const override;
  const Batch& prediction() const override;
  std::optional<int64_t> max_epochs() const override;
  std::optional<int64_t> num_batches() const override { return num_batches_; }
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() override;
  const std::vector<std::shared_ptr<LRScheduler>>& lr_schedulers() override;
  const Metrics& metrics() const override { return sink_.all(); }
  const Metrics& progress_bar_metrics() const override { return sink_.progress_bar(); }
  std::optional<double> metric(const std::string& name) const override { return sink_.newest(name); }
  void log(const std::string& name, double value, LogOptions how = {}) override { sink_.log(name, value, how); }
  void log_image(const std::string& name, const at::Tensor& image) override;
  void log_histogram(const std::string& name, const at::Tensor& values) override;
  void log_text(const std::string& name, const std::string& text) override;
  void log_artifact(const std::filesystem::path& file, const std::string& folder = "") override;
  std::optional<int64_t> non_finite_step() const override { return loss_watch_.first_step(); }
  std::optional<int64_t> estimated_stepping_batches() override { return estimate_ ? estimate_() : std::nullopt; }
  bool validates_once_per_epoch() const override;
  bool minimum_is_reached() const override;
  void request_stop(const std::string& reason) override { stops_.request(reason); }
  void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) override;
  State weights() override;
  bool resumes_in_place() const override { return folder_.is_resumed(); }
  const std::filesystem::path& resumed_from() const override { return resumption_.file(); }
  bool takes_present_options() const override { return parts_.options.resume_optimizer_options == "present"; }
  std::filesystem::path checkpoint_folder() const override { return folder_.path() / "checkpoints"; }
  void set_accumulate_grad_batches(int64_t k) override;

  // --- what the run is made of ---
  const RunParts& parts() const { return parts_; }
  /// Returns the parts that a training step works with.
  StepParts step_parts();
  RunFolder& run_folder() { return folder_; }
  const RunFolder& run_folder() const { return folder_; }
  void set_run_folder(RunFolder folder) { folder_ = std::move(folder); }
  const RunConfig& config() const { return config_; }
  void set_config(RunConfig config) { config_ = std::move(config); }
  /// `configure` makes the optimizers, at the first call of optimizers().
  void set_configure_optimizers(std::function<void()> configure) { configure_optimizers_ = std::move(configure); }
  /// `estimate` returns the optimizer steps of the whole fit.
  void set_estimate(std::function<std::optional<int64_t>()> estimate) { estimate_ = std::move(estimate); }

  /// Adds epochs to max_epochs.
  void set_extra_epochs(int64_t epochs) { extra_epochs_ = epochs; }
  int64_t extra_epochs() const { return extra_epochs_; }

  // --- what its loops share ---
  TrainerState& counters() { return counters_; }
  const TrainerState& counters() const { return counters_; }
  MetricSink& sink() { return sink_; }
  LossWatch& loss_watch() { return loss_watch_; }
  StepContext& step_context() { return step_context_; }
  RunClock& clock() { return clock_; }
  const RunClock& clock() const { return clock_; }
  StopRequests& stops() { return stops_; }
  const StopRequests& stops() const { return stops_; }
  Resumption& resumption() { return resumption_; }
  const Resumption& resumption() const { return resumption_; }
  AccumulationScale& accumulation_scale() { return accumulation_scale_; }

  /// While it lives, the run's weights are those of a sharded checkpoint: this rank's slices are added to `divided`.
  class DividedWeights {
   public:
    DividedWeights(RunContext& run, State& divided) : run_(run) {
      run_.divided_ = &divided;
      run_.divided_sets_ = 0;
    }
    ~DividedWeights() { run_.divided_ = nullptr; }
    DividedWeights(const DividedWeights&) = delete;
    DividedWeights& operator=(const DividedWeights&) = delete;

   private:
    RunContext& run_;
  };

  /// `states` returns what the host program of a session adds to this rank's part of a checkpoint: a dict,
  /// or none.
  void set_host_states(std::function<State()> states) { host_states_ = std::move(states); }
  State host_states() const { return host_states_ ? host_states_() : State(); }

  /// Sets the stage and loader that the module sees.
  void enter(Stage stage, int64_t dataloader_idx);
  /// Sets the batches per epoch of the current loader; unset if it does not know.
  void set_num_batches(std::optional<int64_t> batches) { num_batches_ = batches; }
  /// Batches per training epoch; the outer value is set once the training loader exists, the inner one if it knows.
  const std::optional<std::optional<int64_t>>& train_batches() const { return train_batches_; }
  void set_train_batches(std::optional<int64_t> batches) { train_batches_.emplace(batches); }
  /// Returns the loaders whose positions checkpoints hold; null without one. They must outlive the run, or be replaced.
  const data::Loaders* train_loaders() const { return train_loaders_; }
  const data::Loaders* evaluation_loaders() const { return evaluation_loaders_; }
  void set_train_loaders(const data::Loaders& loaders) { train_loaders_ = &loaders; }
  void set_evaluation_loaders(const data::Loaders& loaders) { evaluation_loaders_ = &loaders; }
  Batch to_device(Batch batch) { return transfer_batch(parts_, std::move(batch), step_context_.dataloader_idx); }
  /// Sends a row to the loggers; a no-op if `values` is empty.
  void log_row(const Metrics& values);
  /// Returns how many rows that were.
  int64_t log_rows() const { return log_rows_; }
  /// Prints a warning, once per run for each `key`.
  void warn_once(const std::string& key, const std::string& text);
  /// The run's random number state, also after the run, when the program's own is restored.
  State rng() const { return rng_at_end_ ? *rng_at_end_ : rng_state(); }

  /// Saves the requested checkpoints. The loops call it at positions from which a run can resume. Throws the error of
  /// an earlier save, unless checkpoint_errors is "warn". Collective: all ranks call it.
  void save_if_asked() {
    if (!holds_saves_ && saver_.has_work()) save_now();
  }
  /// While `hold` is true, the requests wait.
  void hold_saves(bool hold) { holds_saves_ = hold; }
  /// Asks for a checkpoint that all ranks save once they have agreed to; see RankAgreement. `path` as for
  /// save_checkpoint.
  void ask_all_ranks_to_save(const std::filesystem::path& path);
  /// Returns whether this rank has asked.
  bool asks_all_ranks_to_save() const { return !asked_of_all_ranks_.empty(); }
  /// Requests the checkpoints for which any rank has asked. Collective: all ranks call it.
  void take_asked_saves();
  /// Returns whether a checkpoint is requested that is not saved yet.
  bool has_save_requests() const { return saver_.has_requests() || asks_all_ranks_to_save(); }
  /// The same for places where some ranks may lack the request because they had no batch. Sends a message to all ranks.
  void save_if_any_rank_asks();
  /// Saves the checkpoints that on_exception hooks requested. The current accumulation window is dropped, and a resume
  /// skips the batch that failed.
  void save_after_exception();
  /// Waits until all checkpoints are written. Throws like save_if_asked.
  void finish_saves() { saver_.finish(); }

  /// Drops the step's output and the optimizer handles after an exception has left the loop.
  void leave_loop();
  /// Detaches the module from the run. The state can still be saved.
  void end();
  bool has_ended() const { return rng_at_end_.has_value(); }
  /// Returns whether the module was destroyed.
  bool module_is_gone() const { return module_lifetime_.expired(); }
  /// Throws levin::UsageError, which names the call, if the module was destroyed.
  void check_module_exists(const char* call) const;

 private:
  friend class BatchInHand;
  void save_now();
  LogRow log_position() const;

  const RunParts& parts_;
  TrainerState counters_ = {};
  MetricSink sink_ = {};
  LossWatch loss_watch_ = {};
  StepContext step_context_ = {};
  std::weak_ptr<const void> module_lifetime_ = {};
  RunClock clock_ = {};
  StopRequests stops_;
  Resumption resumption_ = {};
  AccumulationScale accumulation_scale_ = {};
  RunFolder folder_ = {};
  RunConfig config_ = {};
  CheckpointSaver saver_;
  bool holds_saves_ = false;
  std::vector<std::filesystem::path> asked_of_all_ranks_ = {};
  std::function<State()> host_states_ = {};
  State* divided_ = nullptr;  ///< this rank's part of the sharded checkpoint that is being put together
  int divided_sets_ = 0;      ///< of weights that hooks added to it
  int64_t log_rows_ = 0;
  int64_t extra_epochs_ = 0;

  const BatchInHand* in_hand_ = nullptr;
  int64_t batch_idx_ = 0;
  std::optional<int64_t> num_batches_ = {};
  std::optional<std::optional<int64_t>> train_batches_ = {};
  const data::Loaders* train_loaders_ = nullptr;
  const data::Loaders* evaluation_loaders_ = nullptr;
  std::function<void()> configure_optimizers_ = {};
  std::function<std::optional<int64_t>()> estimate_ = {};
  std::set<std::string> warned_ = {};
  std::optional<State> rng_at_end_ = {};  ///< set once the run has ended
};

/// The current batch of a loop: while the object lives, hooks can read the batch, and logged values belong to it.
class BatchInHand {
 public:
  /// How values are logged while the batch is in hand.
  struct Logging {
    int64_t step;             ///< the number of the batch, for values of each step
    bool on_step_by_default;  ///< values are logged by step if the caller does not say
  };

  /// `run` and `batch` must outlive the object. Without `logging`, values are logged as between batches.
  BatchInHand(RunContext& run, const Batch& batch, int64_t batch_idx, std::optional<Logging> logging = {});
  ~BatchInHand();
  BatchInHand(const BatchInHand&) = delete;
  BatchInHand& operator=(const BatchInHand&) = delete;

  const Batch& batch() const { return batch_; }
  /// What predict_step returned for the batch; null before.
  const Batch* prediction() const { return prediction_; }
  /// `prediction` must outlive the object.
  void set_prediction(const Batch& prediction) { prediction_ = &prediction; }

 private:
  RunContext& run_;
  const Batch& batch_;
  const Batch* prediction_ = nullptr;
};

}  // namespace levin
