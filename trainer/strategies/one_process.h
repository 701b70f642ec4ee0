#pragma once
#include <levin/modules/optim/optimizer_state.h>
#include <levin/trainer/strategies/strategy.h>

namespace levin {

/// What the strategies of one process share: there is no rank to agree with, and optimizers hold their whole state.
class OneProcessStrategy : public Strategy {
 public:
  Comm& comm() override { return comm_; }
  void backward(const at::Tensor& loss, bool /*sync*/) override { module_->backward(loss); }
  at::Tensor reduce_norm(const at::Tensor& norm) override { return norm; }
  State optimizer_state(torch::optim::Optimizer& optimizer) override { return optimizer_state_dict(optimizer); }
  void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) override {
    load_optimizer_state_dict(optimizer, state);
  }
  Agreement agree(uint64_t bits, double sum_of_weights) override { return {bits, sum_of_weights}; }

 protected:
  LightningModule* module_ = nullptr;  ///< set by `place`

 private:
  SingleProcessComm comm_;
};

}  // namespace levin
