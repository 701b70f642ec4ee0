#pragma once
#include <levin/trainer/logging/step_log.h>
#include <levin/trainer/strategies/forwarding_strategy.h>

#include <memory>
#include <vector>

namespace levin {

/// A wrapper of another strategy that continues if a training step runs out of memory: it splits the batch and runs its
/// parts forward and backward one after another. The number of parts is kept for later steps.
///
/// The gradients of the parts are collected separately and added to the window's once the whole batch is done, so that
/// nothing is lost if backward runs out of memory; with gradient accumulation that takes the memory of one more set of
/// gradients. The results equal those of the whole batch, except for BatchNorm, which sees the parts, and for random
/// numbers, which are drawn part by part.
class AutoMicrobatch final : public ForwardingStrategy {
 public:
  using ForwardingStrategy::ForwardingStrategy;

  void set_context(StepContext& context) override;
  void place(LightningModule& module) override;
  /// Throws levin::UsageError for manual optimization, and for optimizers that evaluate a batch many times.
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  StepOutput run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) override;

 private:
  struct Pass;
  struct Backward;
  StepOutput forward(const Pass& pass, const Batch& batch, LogSink& sink);
  StepOutput run_parts(Pass& pass, const at::Tensor& gradient, std::vector<StepLog>& logs);
  std::vector<at::Tensor> gradients_of(Pass& pass, const at::Tensor& gradient);
  void split_further(const Batch& batch, const std::exception& error);

  StepContext* context_ = nullptr;
  LightningModule* module_ = nullptr;
  std::vector<at::Tensor> parameters_ = {};  ///< parameters that require gradients
  int64_t parts_ = 1;                        ///< number of parts that a batch is split into
  at::Tensor last_gradient_ = {};            ///< the loss's incoming gradient in the last backward
};

}  // namespace levin
