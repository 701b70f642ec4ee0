#pragma once
#include <levin/trainer/strategies/strategy.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// A wrapper of another strategy that passes every call on. A derived class overrides what it changes; all functions of
/// Strategy are pure virtual, so this class does not compile if it lacks one.
class ForwardingStrategy : public Strategy {
 public:
  explicit ForwardingStrategy(std::unique_ptr<Strategy> inner) : inner_(std::move(inner)) {}

  Comm& comm() override { return inner_->comm(); }
  std::string where() const override { return inner_->where(); }
  c10::Device device() const override { return inner_->device(); }
  RankSync& rank_sync() override { return inner_->rank_sync(); }
  void set_context(StepContext& context) override { inner_->set_context(context); }
  void configure_model(LightningModule& module) override { inner_->configure_model(module); }
  void place(LightningModule& module) override { inner_->place(module); }
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override {
    inner_->attach(optimizers);
  }
  Batch to_device(Batch batch) override { return inner_->to_device(std::move(batch)); }
  StepOutput run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) override {
    return inner_->run_step(function, batch, batch_idx);
  }
  void run_idle(const std::set<LoggedMetric*>& metrics, const std::function<void()>& step) override {
    inner_->run_idle(metrics, step);
  }
  void begin_evaluation() override { inner_->begin_evaluation(); }
  void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) override {
    inner_->run_evaluation_step(kind, batch, batch_idx);
  }
  Batch run_predict_step(const Batch& batch, int64_t batch_idx) override {
    return inner_->run_predict_step(batch, batch_idx);
  }
  void backward(const at::Tensor& loss, bool sync) override { inner_->backward(loss, sync); }
  void backward_without_loss(bool sync) override { inner_->backward_without_loss(sync); }
  at::Tensor reduce_norm(const at::Tensor& norm) override { return inner_->reduce_norm(norm); }
  void zero_grad(torch::optim::Optimizer& optimizer) override { inner_->zero_grad(optimizer); }
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override { inner_->step(optimizer, closure); }
  void give_back() override { inner_->give_back(); }
  StrategyState& state() override { return inner_->state(); }
  const Strategy& inner() const { return *inner_; }

 protected:
  Strategy& inner() { return *inner_; }
  /// Destroys the inner strategy, in the destructor of a class that owns what it uses.
  void destroy_inner() { inner_.reset(); }

 private:
  std::unique_ptr<Strategy> inner_;
};

/// Returns the strategy of class S that `strategy` is or wraps; null if there is none.
template <class S>
const S* find_strategy(const Strategy& strategy) {
  const auto* const wrapper = dynamic_cast<const ForwardingStrategy*>(&strategy);
  return wrapper != nullptr ? find_strategy<S>(wrapper->inner()) : dynamic_cast<const S*>(&strategy);
}

}  // namespace levin
