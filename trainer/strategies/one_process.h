#pragma once
#include <levin/modules/optim/optimizer_state.h>
#include <levin/trainer/strategies/strategy.h>

namespace levin {

/// The common base of strategies with one process: there are no ranks to agree with, and optimizers hold their whole
/// state.
class OneProcessStrategy : public Strategy {
 public:
  Comm& comm() override { return comm_; }
  void set_context(StepContext& /*context*/) override {}
  void begin_evaluation() override {}
  void backward(const at::Tensor& loss, bool /*sync*/) override { module_->backward(loss); }
  void backward_of_nothing() override {}
  void begin_sum_of_weights(double own) override { sum_of_weights_ = own; }
  double sum_of_weights() override { return sum_of_weights_; }
  at::Tensor reduce_norm(const at::Tensor& norm) override { return norm; }
  void zero_grad(torch::optim::Optimizer& /*optimizer*/) override {}
  State optimizer_state(torch::optim::Optimizer& optimizer) override { return optimizer_state_dict(optimizer); }
  void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) override {
    load_optimizer_state_dict(optimizer, state);
  }
  State state_dict() const override { return {}; }
  void load_state_dict(const State& /*state*/) override {}
  uint64_t agree(uint64_t bits) override { return bits; }
  uint64_t agree_now(uint64_t bits) override { return bits; }

 protected:
  LightningModule* module_ = nullptr;  ///< set by `place`

 private:
  SingleProcessComm comm_;
  double sum_of_weights_ = 0;
};

}  // namespace levin
