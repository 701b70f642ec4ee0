#include <levin/trainer/loops/run_optimizers.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/modules/optim/optimizer.h>
#include <levin/modules/optim/optimizer_state.h>

#include <exception>
#include <string>

namespace levin {
namespace {

/// Throws levin::UsageError for what master weights cannot do.
void check_master_weights(const StepParts& parts) {
  if (!parts.optimizers.empty() && parts.precision.master_weights(0) != nullptr && !parts.module.automatic_optimization)
    throw UsageError("trainer.amp_level: O2 runs automatic optimization only; use O1, which is precision 16-mixed");
}

}  // namespace

RunOptimizers::RunOptimizers(const StepParts& parts) : parts_(parts), scaler_(parts.precision.scaler()) {
  if (scaler_ != nullptr) {
    check_master_weights(parts_);
    // A rank whose first window weighs nothing has scaled no loss when it looks at the gradients of all.
    scaler_->scale(at::zeros({}, at::TensorOptions(parts_.strategy.device())));
  }
  for (size_t i = 0; i < size(); ++i) gradients_.emplace_back(optim::detail::parameters_of(raw(i)));
}

optim::Gradients& RunOptimizers::gradients_of(size_t index) {
  optim::Gradients& gradients = gradients_.at(index);
  gradients.follow(raw(index));
  return gradients;
}

void RunOptimizers::zero_grad(size_t index) {
  gradients_of(index).zero();
  parts_.strategy.zero_grad(raw(index));
  if (auto* masters = parts_.precision.master_weights(index)) masters->zero_grad();
}

void RunOptimizers::unscale(size_t index, double multiplier) {
  if (auto* masters = parts_.precision.master_weights(index)) masters->take_gradients();
  if (scaler_ == nullptr) {
    gradients_of(index).pass(multiplier, /*want_norm=*/false);
    return;
  }
  scaler_->unscale_(raw(index), gradients_of(index), multiplier);
  parts_.strategy.rank_sync().agree_on_found_inf(scaler_->found_inf(raw(index)));
}

void RunOptimizers::unscale_once(size_t index) {
  if (scaler_ != nullptr && !scaler_->is_unscaled(raw(index))) unscale(index, 1.0);
}

void RunOptimizers::clip(size_t index, double value, GradientClipAlgorithm algorithm) {
  if (value <= 0) return;
  optim::Gradients& gradients = gradients_of(index);
  if (algorithm == GradientClipAlgorithm::Value) {
    gradients.clip_value(value);
    return;
  }
  const at::Tensor norm = gradients.pass(1.0, /*want_norm=*/true).norm;
  // Written, although the optimizer could multiply in its step: hooks, and a second clip, see the clipped gradients.
  gradients.clip_norm(parts_.strategy.reduce_norm(norm), value);
}

void RunOptimizers::make_step(size_t index, const Closure& closure) {
  try {
    parts_.strategy.step(raw(index), closure);
  } catch (const std::exception&) {
    if (const std::string misfit = optim::state_shape_mismatch(raw(index), parts_.module); !misfit.empty())
      throw UsageError(misfit);
    throw;
  }
}

bool RunOptimizers::step(size_t index, const Closure& closure) {
  if (scaler_ == nullptr) {
    make_step(index, closure);
    return true;
  }
  auto* const ours = dynamic_cast<optim::Optimizer*>(&raw(index));
  if (capturing_) {
    ours->set_found_inf(scaler_->found_inf(*ours));  // only ours can be captured
    parts_.strategy.step(*ours, nullptr);
    return true;
  }
  const bool made = scaler_->step(raw(index), [&] { make_step(index, nullptr); });  // host sync
  if (auto* masters = parts_.precision.master_weights(index); masters != nullptr && made) masters->write_back();
  // The coefficient that a module's own clipping has left to the step (Optimizer::clip_grad_norm) was for this one.
  if (ours != nullptr && !made) ours->set_gradient_multiplier(1);
  return made;
}

void RunOptimizers::update_scale_if_all_stepped() {
  if (scaler_ != nullptr && scaler_->all_stepped()) scaler_->update();
}

void RunOptimizers::end_step() {
  if (scaler_ != nullptr && scaler_->is_in_use()) scaler_->update();
}

}  // namespace levin
