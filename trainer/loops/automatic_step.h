#pragma once
#include <levin/trainer/loops/accumulation_window.h>
#include <levin/trainer/loops/step_program.h>
#include <levin/trainer/loops/training_step.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace levin {

/// A step of automatic optimization. For each micro-batch:
///
///     closure:  training_step(batch, batch_idx), under the precision's forward context
///               on_before_zero_grad, zero_grad         in the window's first micro-batch
///               on_before_backward, backward(loss * w / w0 / k), on_after_backward
///               in the window's last: gradients * k * ranks * w0 / sum(w), unscaled, on_before_optimizer_step, clipped
///     in the window's last: module.optimizer_step(optimizer, closure)
///
/// The closure returns this rank's loss; to an optimizer that evaluates it several times (LBFGS), the mean of all
/// ranks. A micro-batch without a loss, or of weight 0, adds nothing. AccumulationWindow has the arithmetic.
class AutomaticStep final : public TrainingStep {
 public:
  /// Throws levin::UsageError if the module has several optimizers.
  explicit AutomaticStep(const StepParts& parts);

  Outcome run(const Batch& batch, int64_t batch_idx, bool last_of_epoch, const BatchOnRanks& on_ranks,
              StepProgram* program) override;
  Outcome finish_window() override;
  void set_forward_only(bool forward_only) override { forward_only_ = forward_only; }
  std::string summary() const override { return own_program_->summary(); }

  void step(size_t index, const Closure& closure) override;
  void backward(const at::Tensor& loss) override;
  void clip_gradients(size_t index, double value, GradientClipAlgorithm algorithm) override {
    optimizers_.clip(index, value, algorithm);
  }

 private:
  void enter(bool last_of_epoch);
  Outcome leave();
  void run_micro_batch();
  /// Chooses what runs a batch: `given`, or the run's program unless the batch only runs forward.
  void choose_program(StepProgram* given);
  /// Makes the whole step by the program; returns false if it must run in parts.
  bool run_whole();
  /// Makes the step of a batch in parts, for a program that captures it.
  StepProgram::PartsOutput run_in_parts(const Batch& batch);
  /// Runs the batch forward and backward, as the optimizer's closure; returns the loss.
  at::Tensor compute_gradients();
  void refuse_second_closure() const;
  /// Backward of the micro-batch's loss, of this weight.
  void run_backward(const at::Tensor& loss, double weight);
  double weight_of_output();
  at::Tensor scaled(const at::Tensor& loss, double weight) const;
  void call_zero_grad(size_t index);
  void finish_gradients(size_t index);

  AccumulationWindow window_;
  Closure closure_;
  std::optional<double> gradient_clip_val_;
  GradientClipAlgorithm gradient_clip_algorithm_;
  bool zero_grad_overridden_;
  bool returns_mean_;  ///< the optimizer decides by the loss (LBFGS), which is therefore the same on all ranks
  const StepProgram::InParts in_parts_;
  const std::unique_ptr<StepProgram> own_program_;
  StepProgram* program_;  ///< of the newest batch

  const Batch* batch_ = nullptr;  ///< null while a window ends without a further micro-batch
  int64_t batch_idx_ = 0;
  bool is_idle_ = false;
  bool forward_only_ = false;
  bool closure_ran_ = false, stepped_ = false, updated_ = false;
  double total_weight_ = 0;                  ///< of the window on all ranks, once its last backward is done
  std::optional<double> given_weight_ = {};  ///< what training_step returned with the newest batch's loss
};

}  // namespace levin
