#pragma once
#include <levin/modules/parallel/ranks/sharded_optimizer.h>
#include <levin/trainer/strategies/ddp.h>

#include <optional>

namespace levin {

/// `zero1`: ddp in which each rank steps only its shard of the parameters and holds the optimizer's state for that
/// shard (parallel::ShardedOptimizer). Supports one optimizer, under automatic optimization.
class Zero1Strategy final : public DdpStrategy {
 public:
  /// As in DdpStrategy; `options` must have `shard_gradients`.
  using DdpStrategy::DdpStrategy;

  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  void backward(const at::Tensor& loss, bool sync) override;
  void backward_without_loss(bool sync) override;
  std::vector<at::Tensor> whole_parameters(const torch::optim::Optimizer& /*optimizer*/) const override {
    return sharded_->whole_parameters();
  }
  at::Tensor reduce_norm(const at::Tensor& norm) override { return sharded_->norm_of_all(norm); }
  void zero_grad(torch::optim::Optimizer& /*optimizer*/) override { sharded_->zero_grad(); }
  void step(torch::optim::Optimizer& /*optimizer*/, const Closure& closure) override { sharded_->step(closure); }

 protected:
  /// Returns the whole state on rank 0 and nothing on the others. Collective: all ranks call it.
  State optimizer_state(torch::optim::Optimizer& /*optimizer*/) override {
    follow_parameters();  // a hook may have added groups since the last step
    return sharded_->state_dict();
  }
  void load_optimizer_state(torch::optim::Optimizer& /*optimizer*/, const State& state) override {
    follow_parameters();
    sharded_->load_state_dict(state);
  }
  /// Returns the reducer's buckets, by which the parameters are divided: the buckets of groups that a hook added follow
  /// the first ones.
  State state_dict() override;
  void load_state_dict(const State& state) override;

  bool follow_parameters() override;

 private:
  std::optional<parallel::ShardedOptimizer> sharded_ = {};
};

}  // namespace levin
