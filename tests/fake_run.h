#pragma once
#include <levin/core/run/callback_entry.h>
#include <levin/core/run/run.h>
#include <levin/core/system/error.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// A Run without a trainer: tests set what callbacks read, and check what callbacks requested.
class FakeRun : public Run {
 public:
  TrainerState state_ = {};
  std::filesystem::path folder_ = {};
  int64_t batch_idx_ = 0;
  int64_t dataloader_idx_ = 0;
  std::optional<int64_t> max_epochs_ = {};
  std::optional<int64_t> num_batches_ = {};
  std::optional<int64_t> total_steps_ = {}, non_finite_step_ = {};
  bool validates_once_per_epoch_ = true, fitting_ = true;
  Metrics metrics_ = {};
  Metrics progress_bar_metrics_ = {};
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers_ = {};
  std::vector<std::shared_ptr<LRScheduler>> lr_schedulers_ = {};
  std::vector<CallbackEntry> callbacks_ = {};
  std::shared_ptr<Comm> comm_ = std::make_shared<SingleProcessComm>();

  std::vector<std::string> logged_ = {};  ///< images, histograms, texts and artifacts
  std::optional<std::string> stop_reason_ = {};
  std::optional<int64_t> accumulate_grad_batches_ = {};

  std::vector<std::pair<std::filesystem::path, SaveCheckpointOptions>> saves_ = {};
  bool continues_in_folder_ = false;
  std::filesystem::path resumed_from_ = {};

  const TrainerState& state() const override { return state_; }
  void save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) override {
    saves_.emplace_back(path, std::move(how));
  }
  State weights() override { none("weights"); }
  bool resumes_in_place() const override { return continues_in_folder_; }
  const std::filesystem::path& resumed_from() const override { return resumed_from_; }
  bool takes_present_options() const override { return false; }
  std::filesystem::path checkpoint_folder() const override { return folder_ / "checkpoints"; }
  LightningModule& module() override { none("module"); }
  data::DataModule* data_module() override { return nullptr; }
  c10::Device device() const override { return c10::kCPU; }
  Comm& comm() override { return *comm_; }
  const std::filesystem::path& folder() const override { return folder_; }
  const std::vector<CallbackEntry>& callbacks() const override { return callbacks_; }
  bool fitting() const override { return fitting_; }
  const Batch& batch() const override { none("batch"); }
  int64_t batch_idx() const override { return batch_idx_; }
  int64_t dataloader_idx() const override { return dataloader_idx_; }
  const StepOutput& output() const override { none("output"); }
  const Batch& prediction() const override { none("prediction"); }
  std::optional<int64_t> max_epochs() const override { return max_epochs_; }
  std::optional<int64_t> num_batches() const override { return num_batches_; }
  std::optional<int64_t> estimated_stepping_batches() override { return total_steps_; }
  bool validates_once_per_epoch() const override { return validates_once_per_epoch_; }
  std::optional<int64_t> non_finite_step() const override { return non_finite_step_; }
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() override { return optimizers_; }
  const std::vector<std::shared_ptr<LRScheduler>>& lr_schedulers() override { return lr_schedulers_; }
  const Metrics& metrics() const override { return metrics_; }
  const Metrics& progress_bar_metrics() const override { return progress_bar_metrics_; }
  std::optional<double> metric(const std::string& name) const override {
    const auto found = metrics_.find(name);
    return found == metrics_.end() ? std::nullopt : std::optional<double>(found->second);
  }
  void log(const std::string& name, double value, LogOptions options = {}) override {
    metrics_[name] = value;
    if (options.prog_bar) progress_bar_metrics_[name] = value;
  }
  void log_image(const std::string& name, const at::Tensor&) override { logged_.push_back("image " + name); }
  void log_histogram(const std::string& name, const at::Tensor&) override { logged_.push_back("histogram " + name); }
  void log_text(const std::string& name, const std::string&) override { logged_.push_back("text " + name); }
  void log_artifact(const std::filesystem::path& file, const std::string&) override {
    logged_.push_back("artifact " + file.string());
  }
  void request_stop(const std::string& reason) override {
    if (!stop_reason_) stop_reason_ = reason;
  }
  void set_accumulate_grad_batches(int64_t k) override { accumulate_grad_batches_ = k; }

 private:
  [[noreturn]] static void none(const char* what) { throw Error("FakeRun has no ", what); }
};

}  // namespace levin
