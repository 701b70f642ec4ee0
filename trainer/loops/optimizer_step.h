#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/gradients.h>
#include <levin/trainer/loops/run_context.h>

#include <vector>

namespace levin {

/// One micro-batch of training: loss, backward and, in the last one of a window, the optimizer step.
///
///     prepare                         host decisions: first and last of the window
///     module.optimizer_step(closure)  in the window's last micro-batch; in the others the closure runs alone
///       closure = body
///         loss = strategy.run_step(batch)
///         zero_grad in the window's first
///         strategy.backward(loss / k * w / w0)
///         in the window's last: gradients * k * w0 / sum(w), on_before_optimizer_step, clip
///
/// The gradient of a window is that of the mean over its samples weighted by w, also where its last micro-batch or the
/// window itself is short: w0 is the window's first weight, and a full window of equal weights multiplies nothing.
/// Manual optimization reaches the same step, zero_grad and backward through its handles; no k and no weights there.
class OptimizerStep final : public OptimizerDriver {
 public:
  /// Of the run's optimizers; throws levin::UsageError where they do not fit automatic optimization.
  explicit OptimizerStep(RunContext& run);

  /// What became of a micro-batch.
  struct Outcome {
    bool window_done = false;
    bool stepped = false;  ///< an optimizer was asked to step
  };
  /// `last_batch`: no batch follows in this epoch, so that the window ends here.
  Outcome run(const Batch& batch, int64_t batch_idx, bool last_batch);
  /// What training_step returned for this batch, until `drop_output`.
  const StepOutput& output() const { return output_; }
  /// Drops what training_step returned, once the batch's hooks have seen it: no graph outlives its step.
  void drop_output();

  size_t size() const override { return run_.optimizer_list.size(); }
  torch::optim::Optimizer& raw(size_t index) override { return *run_.optimizer_list.at(index); }
  void step(size_t index, const Closure& closure) override;
  void zero_grad(size_t index) override { gradients_.at(index).zero(); }
  void backward(const at::Tensor& loss) override;
  void clip_gradients(size_t index, double value, GradientClipAlgorithm algorithm) override;

 private:
  void prepare(bool last_batch);
  void run_automatic();
  at::Tensor body();
  at::Tensor run_training_step();
  double weigh();
  at::Tensor scaled(const at::Tensor& loss, double weight) const;
  void call_zero_grad(size_t index);
  void finish_gradients(size_t index);

  RunContext& run_;
  std::vector<Gradients> gradients_ = {};  ///< one for each optimizer
  Closure closure_;
  std::optional<double> gradient_clip_val_;
  GradientClipAlgorithm gradient_clip_algorithm_;
  bool zero_grad_overridden_;

  const Batch* batch_ = nullptr;
  int64_t batch_idx_ = 0;
  bool first_ = false, last_ = false, body_ran_ = false, stepped_ = false;
  double weight_before_ = 0;  ///< sum of the window's weights before this micro-batch: the body may run again
  StepOutput output_ = {};
};

}  // namespace levin
