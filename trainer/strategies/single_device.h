#pragma once
#include <levin/trainer/strategies/strategy.h>

namespace levin {

/// One process, one device.
class SingleDeviceStrategy final : public Strategy {
 public:
  explicit SingleDeviceStrategy(c10::Device device) : device_(device) {}

  const char* name() const override { return "single_device"; }
  Comm& comm() override { return comm_; }
  c10::Device device() const override { return device_; }
  void place(LightningModule& module) override;
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  Batch to_device(Batch batch) override { return batch.to(device_, /*non_blocking=*/true); }
  StepOutput run_step(const Batch& batch, int64_t batch_idx) override {
    return module_->training_step(batch, batch_idx);
  }
  void backward(const at::Tensor& loss, bool sync) override;
  at::Tensor reduce_norm(const at::Tensor& norm) override { return norm; }
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override { optimizer.step(closure); }
  State optimizer_state(torch::optim::Optimizer& optimizer) override;
  void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) override;
  Agreement agree(uint64_t bits, double sum_of_weights) override { return {bits, sum_of_weights}; }

 private:
  c10::Device device_;
  SingleProcessComm comm_;
  LightningModule* module_ = nullptr;
};

}  // namespace levin
