#pragma once
#include <levin/core/ranks/process_group.h>
#include <levin/modules/optim/engine/parameter_watch.h>
#include <levin/modules/parallel/ranks/gradient_reducer.h>
#include <levin/trainer/strategies/device_transfer.h>
#include <levin/trainer/strategies/registry.h>
#include <levin/trainer/strategies/step_error.h>
#include <levin/trainer/strategies/strategy.h>
#include <torch/csrc/autograd/function.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace levin {

/// `ddp`: one process per device, each with its own batches; gradients are averaged over all ranks while backward
/// computes them. The ranks' windows are weighted together, so the gradient is that of the weighted mean over all
/// samples of the global batch, even if ranks have different numbers of samples or none.
class DdpStrategy : public Strategy, protected StrategyState {
 public:
  explicit DdpStrategy(const StrategyParts& parts, const DDPOptions& options = {});
  /// `group` must outlive the strategy. The devices of its ranks are of one kind. `sync_batchnorm`: batch norms compute
  /// their statistics over all ranks.
  DdpStrategy(ProcessGroup& group, c10::Device device, parallel::DistributedDataParallelOptions options,
              bool sync_batchnorm);

  std::string where() const override;
  Comm& comm() override { return group_; }
  c10::Device device() const override { return device_; }
  RankSync& rank_sync() override { return rank_sync_; }
  void set_context(StepContext& context) override { context_ = &context; }
  void configure_model(LightningModule& module) override { ModuleAccess::configure_model_once(module); }
  /// Moves the module to the device and broadcasts rank 0's parameters and buffers. Throws levin::UsageError if the
  /// ranks' modules differ.
  void place(LightningModule& module) override;
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  Batch to_device(Batch batch) override { return transfer_(std::move(batch)); }
  StepOutput run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) override;
  void run_idle(const std::set<LoggedMetric*>& metrics, const std::function<void()>& step) override;
  void begin_evaluation() override;
  void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) override;
  Batch run_predict_step(const Batch& batch, int64_t batch_idx) override;
  void backward(const at::Tensor& loss, bool sync) override;
  /// Collectives of the forward's batch norms meet those of the other ranks' backward.
  void backward_without_loss(bool sync) override;
  /// Returns `norm`: gradients are already those of all ranks.
  at::Tensor reduce_norm(const at::Tensor& norm) override { return norm; }
  void zero_grad(torch::optim::Optimizer& /*optimizer*/) override {}
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override { optimizer.step(closure); }
  /// Returns, for each tensor that the optimizer's groups hold now, the module's parameter that it is, or a part of.
  virtual std::vector<at::Tensor> whole_parameters(const torch::optim::Optimizer& optimizer) const;
  void give_back() override {}
  StrategyState& state() override { return *this; }

 protected:
  State weights() override;
  State optimizer_state(torch::optim::Optimizer& optimizer) override;
  void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) override;
  bool saves_shards() const override { return false; }
  State sharded_weights(State& /*shards*/, const std::string& /*key*/) override { return weights(); }
  State sharded_optimizer_state(torch::optim::Optimizer& optimizer, State& /*shards*/) override {
    return optimizer_state(optimizer);
  }
  State gradient_means() override { return {}; }
  bool load_gradient_means(const std::vector<State>& /*of_ranks*/) override { return false; }
  State state_dict() override;
  void load_state_dict(const State& state) override;

  /// Adds parameters that optimizers or the module gained since the last call, and follows changes of rows. Called
  /// before a forward and before a state is applied. Returns whether anything changed.
  virtual bool follow_parameters();
  /// Throws levin::UsageError for what a strategy that divides the optimizer's state cannot run: manual optimization
  /// and several optimizers. `strategy`: its name.
  void check_divisible(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers,
                       const char* strategy) const;
  /// Returns the results of the synchronized batch norms since run_step, and keeps none.
  std::vector<torch::autograd::Edge> take_norms() { return std::exchange(norms_, {}); }
  void forget_norms() { norms_.clear(); }
  LightningModule& module() const { return *module_; }
  ProcessGroup& group() const { return group_; }
  /// Null if nothing is trained.
  parallel::GradientReducer* reducer() { return reducer_ ? &*reducer_ : nullptr; }

 private:
  /// Throws levin::UsageError on all ranks if they have changed rows differently. Collective.
  void check_same_rows();

  ProcessGroup& group_;
  c10::Device device_;
  parallel::DistributedDataParallelOptions options_;
  std::unique_ptr<ProcessGroup> norm_group_;       ///< of synchronized batch norms; null: they are not synchronized
  std::vector<torch::autograd::Edge> norms_ = {};  ///< their results in the last forward, until its backward
  DeviceTransfer transfer_;
  RankSync rank_sync_;
  LightningModule* module_ = nullptr;
  StepContext* context_ = nullptr;  ///< the module's
  FirstSteps first_ = {};
  std::optional<parallel::GradientReducer> reducer_ = {};
  optim::ParameterWatch watch_ = {};
};

}  // namespace levin
