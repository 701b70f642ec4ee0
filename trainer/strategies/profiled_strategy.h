#pragma once
#include <levin/core/run/profiler.h>
#include <levin/trainer/strategies/forwarding_strategy.h>

#include <memory>
#include <string>
#include <utility>

namespace levin {

/// A wrapper of another strategy whose steps are actions of a profiler.
class ProfiledStrategy final : public ForwardingStrategy {
 public:
  /// `profiler` must outlive the object.
  ProfiledStrategy(std::unique_ptr<Strategy> inner, Profiler& profiler)
      : ForwardingStrategy(std::move(inner)), profiler_(&profiler) {}

  void set_context(StepContext& context) override {
    context_ = &context;
    inner().set_context(context);
  }
  Batch to_device(Batch batch) override {
    const ProfileSpan span(profiler_, Action::BatchToDevice);
    return inner().to_device(std::move(batch));
  }
  StepOutput run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) override {
    const ProfileSpan span(profiler_, Action::TrainingStep);
    return inner().run_step(function, batch, batch_idx);
  }
  void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) override {
    const ProfileSpan span(profiler_, context_->stage == Stage::Test ? Action::TestStep : Action::ValidationStep);
    inner().run_evaluation_step(kind, batch, batch_idx);
  }
  Batch run_predict_step(const Batch& batch, int64_t batch_idx) override {
    const ProfileSpan span(profiler_, Action::PredictStep);
    return inner().run_predict_step(batch, batch_idx);
  }
  void backward(const at::Tensor& loss, bool sync) override {
    const ProfileSpan span(profiler_, Action::Backward);
    inner().backward(loss, sync);
  }
  void step(torch::optim::Optimizer& optimizer, const Closure& closure) override {
    const ProfileSpan span(profiler_, Action::StrategyOptimizerStep);
    inner().step(optimizer, closure);
  }

 private:
  Profiler* profiler_;
  const StepContext* context_ = nullptr;
};

}  // namespace levin
