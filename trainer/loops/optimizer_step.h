#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/grad_scaler.h>
#include <levin/modules/optim/gradients.h>
#include <levin/trainer/loops/captured_step.h>
#include <levin/trainer/loops/run_context.h>

#include <memory>
#include <vector>

namespace levin {

/// One micro-batch of training: loss, backward and, in the last micro-batch of a window, the optimizer step.
///
///     prepare                         host decisions: first and last of the window
///     module.optimizer_step(closure)  in the window's last micro-batch; in the others the closure runs alone
///       closure = body
///         loss = strategy.run_step(batch)
///         zero_grad in the window's first
///         strategy.backward(scale(loss / k * w / w0))
///         in the window's last: unscale(gradients * k * w0 / sum(w)), on_before_optimizer_step, clip
///
/// With cuda_graphs the whole step is captured and then replayed (CapturedStep).
///
/// With a GradScaler the closure runs first, the optimizer steps if all gradients are finite, and the loss scale is
/// updated afterwards. This is the window's only host sync, unless training_step returns its weight as a GPU tensor.
///
/// A window's gradient is the gradient of the mean over its samples, weighted by w, also if the last micro-batch or the
/// window itself is short. w0 is the window's first weight; a full window of equal weights needs no multiplication.
/// With several ranks w0 is the same for all windows, sum(w) is over all ranks, and k counts once per rank. Manual
/// optimization uses the same step, zero_grad and backward through its handles, without k and weights.
class OptimizerStep final : public OptimizerDriver {
 public:
  /// Drives the run's optimizers. Throws levin::UsageError if they or the options do not fit the kind of optimization.
  explicit OptimizerStep(RunContext& run);

  /// The outcome of a micro-batch.
  struct Outcome {
    bool window_done = false;
    bool stepped = false;  ///< an optimizer was asked to step
    bool skipped = false;  ///< no step was made, because gradients were not finite
  };
  /// `last_batch`: no batch follows in this epoch, so the window ends here. `weightless`: the batch runs only because
  /// other ranks have one, and has weight 0.
  Outcome run(const Batch& batch, int64_t batch_idx, bool last_batch, bool weightless = false);
  /// Sets how many ranks have the next batch. Manual optimization has no weights and averages gradients over these
  /// ranks.
  void set_ranks_with_batch(int64_t ranks) { ranks_with_batch_ = ranks; }
  /// The loss of this batch; undefined if its weight is 0.
  at::Tensor counted_loss() const { return counts_ ? output_.loss : at::Tensor(); }
  /// Ends a window without another micro-batch, if the epoch's last batch was not known to be the last.
  Outcome finish_window();
  /// The result of training_step for this batch, until `drop_output`.
  const StepOutput& output() const { return output_; }
  /// Drops the result of training_step after the batch's hooks, so that no graph outlives its step.
  void drop_output();

  size_t size() const override { return run_.optimizer_list.size(); }
  torch::optim::Optimizer& raw(size_t index) override { return *run_.optimizer_list.at(index); }
  void step(size_t index, const Closure& closure) override;
  void zero_grad(size_t index) override;
  void backward(const at::Tensor& loss) override;
  void clip_gradients(size_t index, double value, GradientClipAlgorithm algorithm) override;

 private:
  Outcome finish();
  void prepare(bool last_batch);
  void run_automatic();
  /// Makes the step by a replay of its CUDA graph; returns false if the step must run eagerly.
  bool replay();
  at::Tensor body();
  at::Tensor run_training_step();
  double weigh();
  /// Adds the micro-batch's weight to the window.
  void add_weight(double weight);
  at::Tensor scaled(const at::Tensor& loss, double weight) const;
  at::Tensor share_of_mean(const at::Tensor& loss) const;
  void call_zero_grad(size_t index);
  /// Returns the gradients of the parameters that the optimizer's groups hold now.
  Gradients& gradients_of(size_t index);
  void finish_gradients(size_t index);
  at::Tensor scale(const at::Tensor& loss) { return scaler_ ? scaler_->scale(loss) : loss; }
  void unscale(size_t index, double multiplier);
  void make_step(size_t index, const Closure& closure);
  void step_scaled(size_t index, const Closure& closure);

  RunContext& run_;
  GradScaler* scaler_;                     ///< null without a loss scale
  std::vector<Gradients> gradients_ = {};  ///< one per optimizer; use `gradients_of`
  Closure closure_;
  std::optional<double> gradient_clip_val_;
  GradientClipAlgorithm gradient_clip_algorithm_;
  bool zero_grad_overridden_;
  std::unique_ptr<CapturedStep> captured_;  ///< null without cuda_graphs
  bool capturing_ = false;

  const Batch* batch_ = nullptr;
  int64_t batch_idx_ = 0;
  bool first_ = false, last_ = false, body_ran_ = false, stepped_ = false, updated_ = false, weightless_ = false;
  int64_t ranks_with_batch_ = 1;  ///< under manual optimization
  bool counts_ = true;            ///< the micro-batch has a weight above 0
  double weight_before_ = 0;      ///< sum of the window's weights before this micro-batch: the body may run again
  double total_weight_ = 0;       ///< of the window on all ranks
  StepOutput output_ = {};
};

}  // namespace levin
