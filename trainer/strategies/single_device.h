#pragma once
#include <levin/trainer/strategies/device_transfer.h>
#include <levin/trainer/strategies/strategy.h>

namespace levin {

/// One process and one device; or a module that has placed its own parts on several, which then stay where they are.
class SingleDeviceStrategy final : public Strategy {
 public:
  /// `moves_module`: the module goes to `device`. Otherwise it stays, and only batches do.
  explicit SingleDeviceStrategy(c10::Device device, bool moves_module = true)
      : device_(device), moves_module_(moves_module), transfer_(device) {}

  const char* name() const override { return "single_device"; }
  std::string where() const override { return moves_module_ ? device_.str() : "the devices of the module's parts"; }
  Comm& comm() override { return comm_; }
  c10::Device device() const override { return device_; }
  void place(LightningModule& module) override;
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  Batch to_device(Batch batch) override { return transfer_(std::move(batch)); }
  StepOutput run_step(const Batch& batch, int64_t batch_idx) override;
  void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  Batch run_predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  void backward(const at::Tensor& loss, bool sync) override;
  at::Tensor reduce_norm(const at::Tensor& norm) override { return norm; }
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override { optimizer.step(closure); }
  State optimizer_state(torch::optim::Optimizer& optimizer) override;
  void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) override;
  Agreement agree(uint64_t bits, double sum_of_weights) override { return {bits, sum_of_weights}; }

 private:
  c10::Device device_;
  bool moves_module_;
  DeviceTransfer transfer_;
  SingleProcessComm comm_;
  LightningModule* module_ = nullptr;
};

}  // namespace levin
