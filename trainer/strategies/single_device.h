#pragma once
#include <levin/trainer/strategies/device_transfer.h>
#include <levin/trainer/strategies/one_process.h>
#include <levin/trainer/strategies/registry.h>
#include <levin/trainer/strategies/step_error.h>

namespace levin {

/// One process and one device; or a module that has placed its parts on several devices itself, where they stay.
class SingleDeviceStrategy : public OneProcessStrategy {
 public:
  explicit SingleDeviceStrategy(const StrategyParts& parts) : SingleDeviceStrategy(parts.devices.front()) {}
  /// `moves_module`: move the module to `device`. Otherwise only batches are moved.
  explicit SingleDeviceStrategy(c10::Device device, bool moves_module = true)
      : device_(device), moves_module_(moves_module), transfer_(device) {}

  std::string where() const override { return moves_module_ ? device_.str() : "the devices of the module's parts"; }
  c10::Device device() const override { return device_; }
  void place(LightningModule& module) override;
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  Batch to_device(Batch batch) override { return transfer_(std::move(batch)); }
  StepOutput run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) override;
  void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) override;
  Batch run_predict_step(const Batch& batch, int64_t batch_idx) override;
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override { optimizer.step(closure); }

 private:
  c10::Device device_;
  bool moves_module_;
  DeviceTransfer transfer_;
  FirstSteps first_ = {};
};

}  // namespace levin
