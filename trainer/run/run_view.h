#pragma once
#include <levin/core/run/run.h>

namespace levin {

class RunContext;

/// A run as hooks see it.
class RunView final : public Run {
 public:
  /// `run` must outlive the object.
  explicit RunView(RunContext& run) : run_(run) {}
  /// Returns the run itself, for callbacks of the trainer's own.
  RunContext& context() const { return run_; }

  const TrainerState& state() const override;
  LightningModule& module() override;
  data::DataModule* data_module() override;
  c10::Device device() const override;
  Comm& comm() override;
  const std::filesystem::path& folder() const override;
  const std::vector<CallbackEntry>& callbacks() const override;
  Profiler* profiler() const override;
  bool fitting() const override;
  const Batch& batch() const override;
  int64_t batch_idx() const override;
  int64_t dataloader_idx() const override;
  const StepOutput& output() const override;
  const Batch& prediction() const override;
  std::optional<int64_t> max_epochs() const override;
  std::optional<int64_t> num_batches() const override;
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() override;
  const std::vector<std::shared_ptr<LRScheduler>>& lr_schedulers() override;
  const Metrics& metrics() const override;
  const Metrics& progress_bar_metrics() const override;
  std::optional<double> metric(const std::string& name) const override;
  void log(const std::string& name, double value, LogOptions how = {}) override;
  void log_image(const std::string& name, const at::Tensor& image) override;
  void log_histogram(const std::string& name, const at::Tensor& values) override;
  void log_text(const std::string& name, const std::string& text) override;
  void log_artifact(const std::filesystem::path& file, const std::string& folder = "") override;
  std::optional<int64_t> non_finite_step() const override;
  std::optional<int64_t> estimated_stepping_batches() override;
  bool validates_once_per_epoch() const override;
  bool minimum_is_reached() const override;
  void request_stop(const std::string& reason) override;
  void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) override;
  State weights() override;
  bool resumes_in_place() const override;
  const std::filesystem::path& resumed_from() const override;
  bool takes_present_options() const override;
  std::filesystem::path checkpoint_folder() const override;
  void set_accumulate_grad_batches(int64_t k) override;

 private:
  RunContext& run_;
};

}  // namespace levin
