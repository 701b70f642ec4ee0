#pragma once
#include <levin/core/run/step_context.h>
#include <levin/modules/optim/engine/parameter_watch.h>
#include <levin/modules/parallel/replicas/replica_state.h>
#include <levin/trainer/logging/step_log.h>
#include <levin/trainer/strategies/device_transfer.h>
#include <levin/trainer/strategies/one_process.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace levin {

/// `dp`: one process and several devices. Each batch is split among replicas of the module, which run the step at the
/// same time. Their outputs and logs are merged into those of one device, and the gathered loss runs backward once, so
/// that gradients sum up in the module. The module itself is on the first device.
///
/// Replicas are made by the module's factory (`make_module`, or the registry) or by its `clone()`. Parameters and
/// buffers are copied to the replicas when they have changed; buffers that a training step changes (BatchNorm's
/// statistics) are averaged over the parts, weighted by samples. Other C++ members are not synchronized.
class DataParallelStrategy final : public OneProcessStrategy {
 public:
  /// `devices`: several, either distinct GPUs or the CPU several times. `in_order`: run the replicas one after another.
  DataParallelStrategy(std::vector<c10::Device> devices, c10::Device output_device, bool in_order);

  std::string where() const override;
  c10::Device device() const override { return devices_.front(); }
  void set_context(StepContext& context) override { context_ = &context; }
  /// Throws levin::UsageError if the module cannot make replicas, or if its replicas differ from it.
  void place(LightningModule& module) override;
  /// Throws levin::UsageError for manual optimization and for LBFGS.
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  /// Returns the batch unchanged: its parts are moved to their devices when the step runs.
  Batch to_device(Batch batch) override { return batch; }
  StepOutput run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) override;
  void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) override;
  Batch run_predict_step(const Batch& batch, int64_t batch_idx) override;
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override;

 private:
  using PartStep = std::function<void(size_t replica, LightningModule& module, const Batch& part)>;
  void make_replicas();
  void follow_parameters();
  std::shared_ptr<LightningModule> make_replica(LightningModule& module, c10::Device device) const;
  /// Runs `step` on each part of the batch; returns the number of samples of each part.
  std::vector<int64_t> run_parts(const Batch& batch, const PartStep& step);
  LightningModule& module_on(size_t replica) { return replica == 0 ? *module_ : *replicas_[replica - 1]; }
  void merge_metrics(size_t parts);

  std::vector<c10::Device> devices_;
  c10::Device output_device_;
  bool in_order_;
  bool first_step_ = true;
  std::vector<DeviceTransfer> transfers_ = {};
  StepContext* context_ = nullptr;                               ///< the run's
  std::vector<std::shared_ptr<LightningModule>> replicas_ = {};  ///< on the second device and those after it
  std::vector<StepContext> contexts_ = {};                       ///< one per replica, the module's first
  std::vector<StepLog> logs_ = {};
  std::optional<parallel::ReplicaState> state_ = {};
  optim::ParameterWatch watch_ = {};
};

}  // namespace levin
