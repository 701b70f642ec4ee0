#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/lightning_optimizer.h>
#include <levin/modules/optim/engine/gradients.h>
#include <levin/modules/optim/grad_scaler.h>
#include <levin/trainer/run/step_parts.h>

#include <cstddef>
#include <vector>

namespace levin {

/// The optimizers of a run with their gradients: zeroes, unscales, clips and steps them, through the strategy and the
/// precision. It calls no hooks and knows no windows.
class RunOptimizers {
 public:
  /// Throws levin::UsageError if the precision cannot step one of the optimizers.
  explicit RunOptimizers(const StepParts& parts);

  size_t size() const { return parts_.optimizers.size(); }
  torch::optim::Optimizer& raw(size_t index) { return *parts_.optimizers.at(index); }

  void zero_grad(size_t index);
  /// Returns `loss` times the loss scale; `loss` itself without a scaler.
  at::Tensor scale(const at::Tensor& loss) { return scaler_ ? scaler_->scale(loss) : loss; }
  bool has_scaler() const { return scaler_ != nullptr; }
  /// Multiplies the gradients by `multiplier` and divides them by the loss scale, in one pass. With a scaler all ranks
  /// agree on whether the gradients are finite. Collective.
  void unscale(size_t index, double multiplier);
  /// Divides the gradients by the loss scale, unless that was done since the last step.
  void unscale_once(size_t index);
  /// Clips the gradients in place: by their 2-norm over all ranks, or each element to [-value, value]. A value of 0 or
  /// below clips nothing.
  void clip(size_t index, double value, GradientClipAlgorithm algorithm);
  /// Steps, unless a scaler found gradients that are not finite; returns whether the step was made. The gradients must
  /// be unscaled; `closure` must be null with a scaler. Throws levin::UsageError with the parameter's name if the
  /// optimizer's state does not fit. Host sync with a scaler.
  bool step(size_t index, const Closure& closure = nullptr);

  /// Adapts the loss scale if all optimizers that were unscaled have stepped: another one's gradients may still have
  /// the old scale.
  void update_scale_if_all_stepped();
  /// Ends a step: adapts the loss scale if gradients were unscaled.
  void end_step();

  /// While steps are captured as a graph: `step` leaves the decision about gradients that are not finite to the device.
  void set_capturing(bool capturing) { capturing_ = capturing; }
  /// Returns the device's flag for gradients that are not finite; undefined without a scaler.
  at::Tensor found_inf(size_t index) { return scaler_ ? scaler_->found_inf(raw(index)) : at::Tensor(); }

 private:
  /// Returns the gradients of the parameters that the optimizer's groups hold now.
  optim::Gradients& gradients_of(size_t index);
  void make_step(size_t index, const Closure& closure);

  StepParts parts_;
  optim::GradScaler* scaler_;                     ///< null if the precision scales no losses
  std::vector<optim::Gradients> gradients_ = {};  ///< one for each optimizer; use `gradients_of`
  bool capturing_ = false;
};

}  // namespace levin
