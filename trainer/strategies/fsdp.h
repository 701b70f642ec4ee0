#pragma once
#include <levin/modules/parallel/ranks/sharded_optimizer.h>
#include <levin/modules/parallel/sharding/sharded_construction.h>
#include <levin/modules/parallel/sharding/sharded_module.h>
#include <levin/trainer/strategies/ddp.h>
#include <levin/trainer/strategies/strategy_options.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace levin {

/// `fsdp`: ddp in which each rank holds its shard of the parameters, of their gradients and of the optimizer's state
/// (parallel::ShardedModule). Supports one optimizer, under automatic optimization.
class FsdpStrategy final : public DdpStrategy {
 public:
  /// As in DdpStrategy. `sharing_ranks` divide the model among each other, and further groups of as many ranks have
  /// copies; 0: all ranks.
  FsdpStrategy(ProcessGroup& group, c10::Device device, const FSDPOptions& options, int64_t sharing_ranks,
               bool sync_batchnorm);

  /// Returns the units that the last training batch used (ShardedModule::uses); empty before the first.
  std::vector<size_t> uses() const { return sharded_ ? sharded_->uses() : std::vector<size_t>(); }
  /// What configure_model makes is divided among the ranks at once.
  void configure_model(LightningModule& module) override;
  void place(LightningModule& module) override;
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  StepOutput run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) override;
  void begin_evaluation() override;
  void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) override;
  Batch run_predict_step(const Batch& batch, int64_t batch_idx) override;
  void backward(const at::Tensor& loss, bool sync) override;
  void backward_without_loss(bool sync) override;
  std::vector<at::Tensor> whole_parameters(const torch::optim::Optimizer& /*optimizer*/) const override {
    return optimizer_->whole_parameters();
  }
  at::Tensor reduce_norm(const at::Tensor& norm) override { return optimizer_->norm_of_all(norm); }
  void zero_grad(torch::optim::Optimizer& optimizer) override;
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override;
  void give_back() override;

 protected:
  State weights() override;
  /// Returns the whole state on rank 0 and nothing on the others. Collective: all ranks call it.
  State optimizer_state(torch::optim::Optimizer& /*optimizer*/) override { return sharded_optimizer().state_dict(); }
  void load_optimizer_state(torch::optim::Optimizer& /*optimizer*/, const State& state) override {
    optimizer_->load_state_dict(state);
  }
  bool saves_shards() const override { return saves_shards_; }
  State sharded_weights(State& shards, const std::string& key) override;
  State sharded_optimizer_state(torch::optim::Optimizer& optimizer, State& shards) override;
  State gradient_means() override { return sharded_ ? sharded_->gradient_means() : State(); }
  bool load_gradient_means(const std::vector<State>& of_ranks) override;
  State state_dict() override { return {}; }
  void load_state_dict(const State& /*state*/) override {}
  /// Throws levin::UsageError if parameters were added, or now require a gradient.
  bool follow_parameters() override;

 private:
  /// Divides the parameters, the first time. Collective: all ranks call it.
  parallel::ShardedModule& sharded();
  /// Returns the state of the optimizer while it is divided. Throws levin::UsageError after the run.
  parallel::ShardedOptimizer& sharded_optimizer();

  parallel::ShardingOptions sharding_;
  bool saves_shards_;
  std::optional<parallel::ShardedConstruction> construction_ = {};  ///< until the parameters are in units
  std::optional<parallel::NewTensorsScope> new_tensors_ = {};       ///< from configure_model until `place`
  std::optional<parallel::ShardedModule> sharded_ = {};
  std::optional<parallel::ShardedOptimizer> optimizer_ = {};
  std::vector<std::pair<at::Tensor, bool>> parameters_ = {};  ///< with whether they required a gradient
};

}  // namespace levin
