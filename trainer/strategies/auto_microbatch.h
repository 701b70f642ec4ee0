#pragma once
#include <levin/trainer/logging/step_log.h>
#include <levin/trainer/strategies/strategy.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// A wrapper of another strategy that continues if a training step runs out of memory: it splits the batch and runs its
/// parts forward and backward one after another. The number of parts is kept for later steps.
///
/// The gradients of the parts are collected separately and added to the window's once the whole batch is done, so that
/// nothing is lost if backward runs out of memory; with gradient accumulation that takes the memory of one more set of
/// gradients. The results equal those of the whole batch, except for BatchNorm, which sees the parts, and for random
/// numbers, which are drawn part by part.
class AutoMicrobatch final : public Strategy {
 public:
  explicit AutoMicrobatch(std::unique_ptr<Strategy> inner) : inner_(std::move(inner)) {}

  const char* name() const override { return inner_->name(); }
  std::string where() const override { return inner_->where(); }
  Comm& comm() override { return inner_->comm(); }
  c10::Device device() const override { return inner_->device(); }
  void set_context(StepContext& context) override;
  void place(LightningModule& module) override;
  /// Throws levin::UsageError for manual optimization, and for optimizers that evaluate a batch many times.
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  Batch to_device(Batch batch) override { return inner_->to_device(std::move(batch)); }
  StepOutput run_step(const Batch& batch, int64_t batch_idx) override;
  void begin_evaluation() override { inner_->begin_evaluation(); }
  void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx,
                           int64_t dataloader_idx) override {
    inner_->run_evaluation_step(kind, batch, batch_idx, dataloader_idx);
  }
  Batch run_predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override {
    return inner_->run_predict_step(batch, batch_idx, dataloader_idx);
  }
  void backward(const at::Tensor& loss, bool sync) override { inner_->backward(loss, sync); }
  at::Tensor reduce_norm(const at::Tensor& norm) override { return inner_->reduce_norm(norm); }
  void zero_grad(torch::optim::Optimizer& optimizer) override { inner_->zero_grad(optimizer); }
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override { inner_->step(optimizer, closure); }
  State optimizer_state(torch::optim::Optimizer& optimizer) override { return inner_->optimizer_state(optimizer); }
  void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) override {
    inner_->load_optimizer_state(optimizer, state);
  }
  void backward_of_nothing() override { inner_->backward_of_nothing(); }
  void begin_sum_of_weights(double own) override { inner_->begin_sum_of_weights(own); }
  double sum_of_weights() override { return inner_->sum_of_weights(); }
  State state_dict() const override { return inner_->state_dict(); }
  void load_state_dict(const State& state) override { inner_->load_state_dict(state); }
  uint64_t agree(uint64_t bits) override { return inner_->agree(bits); }
  uint64_t agree_now(uint64_t bits) override { return inner_->agree_now(bits); }

 private:
  struct Pass;
  struct Backward;
  StepOutput forward(const Batch& batch, int64_t batch_idx, LogSink& sink);
  StepOutput run_parts(Pass& pass, const at::Tensor& gradient, std::vector<StepLog>& logs);
  std::vector<at::Tensor> gradients_of(Pass& pass, const at::Tensor& gradient);
  void split_further(const Batch& batch, const std::exception& error);

  std::unique_ptr<Strategy> inner_;
  StepContext* context_ = nullptr;
  LightningModule* module_ = nullptr;
  std::vector<at::Tensor> parameters_ = {};  ///< parameters that require gradients
  int64_t parts_ = 1;                        ///< number of parts that a batch is split into
  at::Tensor last_gradient_ = {};            ///< the loss's incoming gradient in the last backward
};

}  // namespace levin
