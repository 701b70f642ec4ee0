#include <levin/trainer/loops/training_step.h>
#include <ATen/core/grad_mode.h>
#include <levin/trainer/loops/automatic_step.h>
#include <levin/trainer/loops/manual_step.h>

#include <utility>

namespace levin {

at::Tensor TrainingStep::compute_loss(StepFunction& function, const Batch& batch, int64_t batch_idx) {
  parts_.precision.forward_context([&] { set_output(parts_.strategy.run_step(function, batch, batch_idx)); });
  return output_.loss;
}

void TrainingStep::set_output(StepOutput output) {
  output_ = std::move(output);
  parts_.context.output = &output_;
}

std::optional<double> TrainingStep::given_weight() const {
  if (!output_.weight_tensor.defined()) return output_.weight;
  return output_.weight_tensor.item<double>();
}

at::Tensor TrainingStep::loss_without_graph() const {
  const at::Tensor loss = counted_loss();
  return loss.defined() ? loss.tensor_data() : loss;
}

void TrainingStep::drop_output() {
  output_ = {};
  parts_.context.output = nullptr;
}

void TrainingStep::run_closure(const Closure& closure) {
  if (!closure) return;
  const at::AutoGradMode with_gradients(true);
  closure();
}

void TrainingStep::call_backward(at::Tensor scaled_loss, bool sync) {
  parts_.hooks.on_before_backward(parts_.run, scaled_loss);
  parts_.strategy.backward(scaled_loss, sync);
  parts_.hooks.on_after_backward(parts_.run);
}

std::unique_ptr<TrainingStep> make_training_step(const StepParts& parts) {
  if (parts.module.automatic_optimization) return std::make_unique<AutomaticStep>(parts);
  return std::make_unique<ManualStep>(parts);
}

}  // namespace levin
