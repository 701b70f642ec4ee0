#pragma once
#include <levin/modules/parallel/sharded_optimizer.h>
#include <levin/trainer/strategies/ddp.h>

#include <optional>

namespace levin {

/// `zero1`: ddp, where each rank steps its own share of the parameters and has the optimizer's state for that alone
/// (parallel::ShardedOptimizer). For one optimizer, driven by automatic optimization.
class Zero1Strategy final : public DdpStrategy {
 public:
  /// As DdpStrategy, with `shard_gradients`.
  using DdpStrategy::DdpStrategy;

  const char* name() const override { return "zero1"; }
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  void backward(const at::Tensor& loss, bool sync) override;
  void backward_of_nothing() override;
  at::Tensor reduce_norm(const at::Tensor& norm) override { return sharded_->norm_of_all(norm); }
  void zero_grad(torch::optim::Optimizer& /*optimizer*/) override { sharded_->zero_grad(); }
  void step(torch::optim::Optimizer& /*optimizer*/, const Closure& closure) override { sharded_->step(closure); }
  /// On rank 0, and nothing on the others; called by all ranks.
  State optimizer_state(torch::optim::Optimizer& /*optimizer*/) override { return sharded_->state_dict(); }
  void load_optimizer_state(torch::optim::Optimizer& /*optimizer*/, const State& state) override {
    follow_parameters();
    sharded_->load_state_dict(state);
  }
  /// The buckets, by which the parameters are divided: those of groups that a hook has added lie behind the first.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 protected:
  bool follow_parameters() override;

 private:
  std::optional<parallel::ShardedOptimizer> sharded_ = {};
};

}  // namespace levin
