#pragma once
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/weights.h>
#include <levin/trainer/strategies/strategy.h>

namespace levin {

/// The common base of strategies with one process: there are no ranks to agree with, and optimizers hold their whole
/// state.
class OneProcessStrategy : public Strategy, protected StrategyState {
 public:
  Comm& comm() override { return comm_; }
  RankSync& rank_sync() override { return rank_sync_; }
  void set_context(StepContext& /*context*/) override {}
  /// Runs the step as any other: the only rank is never without a batch that another one has.
  void run_idle(const std::set<LoggedMetric*>& /*metrics*/, const std::function<void()>& step) override { step(); }
  void begin_evaluation() override {}
  void backward(const at::Tensor& loss, bool /*sync*/) override { module_->backward(loss); }
  void backward_without_loss(bool /*sync*/) override {}
  at::Tensor reduce_norm(const at::Tensor& norm) override { return norm; }
  void zero_grad(torch::optim::Optimizer& /*optimizer*/) override {}
  void configure_model(LightningModule& module) override { ModuleAccess::configure_model_once(module); }
  void give_back() override {}
  StrategyState& state() override { return *this; }

 protected:
  State weights() override { return module_state_dict(*module_); }
  State optimizer_state(torch::optim::Optimizer& optimizer) override { return optim::optimizer_state_dict(optimizer); }
  void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) override {
    optim::load_optimizer_state_dict(optimizer, state);
  }
  bool saves_shards() const override { return false; }
  State sharded_weights(State& /*shards*/, const std::string& /*key*/) override { return weights(); }
  State sharded_optimizer_state(torch::optim::Optimizer& optimizer, State& /*shards*/) override {
    return optimizer_state(optimizer);
  }
  State gradient_means() override { return {}; }
  bool load_gradient_means(const std::vector<State>& /*of_ranks*/) override { return false; }
  State state_dict() override { return {}; }
  void load_state_dict(const State& /*state*/) override {}

  LightningModule* module_ = nullptr;  ///< set by `place`

 private:
  SingleProcessComm comm_;
  RankSync rank_sync_ = {};
};

}  // namespace levin
