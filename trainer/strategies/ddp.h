#pragma once
#include <levin/modules/optim/parameter_watch.h>
#include <levin/modules/parallel/gradient_reducer.h>
#include <levin/trainer/core/process_group.h>
#include <levin/trainer/strategies/device_transfer.h>
#include <levin/trainer/strategies/step_error.h>
#include <levin/trainer/strategies/strategy.h>

#include <array>
#include <functional>
#include <optional>

namespace levin {

/// `ddp`: one process for each device, each with batches of its own; gradients are averaged over all of them while
/// backward computes them. The ranks' windows are weighed together, so that the gradient is that of the weighted mean
/// over all samples of the global batch, also where ranks have different counts or none.
class DdpStrategy : public Strategy {
 public:
  /// `group` must outlive the strategy. Its ranks have devices of one kind.
  /// `sync_batchnorm`: batch norms take their statistics over all ranks.
  DdpStrategy(ProcessGroup& group, c10::Device device, parallel::DistributedDataParallelOptions options,
              bool sync_batchnorm);

  const char* name() const override { return "ddp"; }
  std::string where() const override;
  Comm& comm() override { return group_; }
  c10::Device device() const override { return device_; }
  void set_context(StepContext& /*context*/) override {}
  /// Makes the parameters those of rank 0. Throws levin::UsageError where ranks have different ones.
  void place(LightningModule& module) override;
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  Batch to_device(Batch batch) override { return transfer_(std::move(batch)); }
  StepOutput run_step(const Batch& batch, int64_t batch_idx) override;
  void begin_evaluation() override;
  void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  Batch run_predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  void backward(const at::Tensor& loss, bool sync) override;
  void backward_of_nothing() override;
  void begin_sum_of_weights(double own) override;
  double sum_of_weights() override;
  /// Gradients are those of all ranks already.
  at::Tensor reduce_norm(const at::Tensor& norm) override { return norm; }
  void zero_grad(torch::optim::Optimizer& /*optimizer*/) override {}
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override { optimizer.step(closure); }
  State optimizer_state(torch::optim::Optimizer& optimizer) override;
  void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) override;
  uint64_t agree(uint64_t bits) override;
  uint64_t agree_now(uint64_t bits) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 protected:
  /// Before a forward, and before a state is applied: takes in parameters that optimizers or the module got since.
  /// Returns whether there are such.
  virtual bool follow_parameters();
  const LightningModule& module() const { return *module_; }
  /// Null where nothing is trained.
  parallel::GradientReducer* reducer() { return reducer_ ? &*reducer_ : nullptr; }

 private:
  /// The message: what the window weighs, of which kind the message is, and one number for each bit, not 0 where a rank
  /// has set it.
  at::Tensor message(double kind, double weight, uint64_t bits) const;
  /// Throws levin::Error where a rank has sent a message of another kind.
  uint64_t bits_of(const at::Tensor& message, double kind) const;

  ProcessGroup& group_;
  c10::Device device_;
  parallel::DistributedDataParallelOptions options_;
  bool sync_batchnorm_;
  DeviceTransfer transfer_;
  LightningModule* module_ = nullptr;
  FirstSteps first_ = {};
  std::optional<parallel::GradientReducer> reducer_ = {};
  optim::ParameterWatch watch_ = {};
  at::Tensor sent_ = {};  ///< the newest message, of all ranks once `arrived_` was called
  std::function<void()> arrived_ = {};
  uint64_t own_bits_ = 0, agreed_bits_ = 0;
};

}  // namespace levin
