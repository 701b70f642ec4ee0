#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/grad_scaler.h>
#include <levin/modules/optim/gradients.h>
#include <levin/trainer/loops/captured_step.h>
#include <levin/trainer/loops/run_context.h>

#include <memory>
#include <vector>

namespace levin {

/// One micro-batch of training: loss, backward and, in the last one of a window, the optimizer step.
///
///     prepare                         host decisions: first and last of the window
///     module.optimizer_step(closure)  in the window's last micro-batch; in the others the closure runs alone
///       closure = body
///         loss = strategy.run_step(batch)
///         zero_grad in the window's first
///         strategy.backward(scale(loss / k * w / w0))
///         in the window's last: unscale(gradients * k * w0 / sum(w)), on_before_optimizer_step, clip
///
/// With cuda_graphs the whole of it is captured, and replayed from then on (CapturedStep).
///
/// With a GradScaler the closure runs first, and the optimizer steps where all gradients are finite; the scale is
/// updated behind it. That is the one host sync of a window.
///
/// The gradient of a window is that of the mean over its samples weighted by w, also where its last micro-batch or the
/// window itself is short: w0 is the window's first weight, and a full window of equal weights multiplies nothing. With
/// several ranks w0 is the same for all windows, sum(w) is over all ranks, and k counts once for each rank.
/// Manual optimization reaches the same step, zero_grad and backward through its handles; no k and no weights there.
class OptimizerStep final : public OptimizerDriver {
 public:
  /// Of the run's optimizers; throws levin::UsageError where they do not fit automatic optimization.
  explicit OptimizerStep(RunContext& run);

  /// What became of a micro-batch.
  struct Outcome {
    bool window_done = false;
    bool stepped = false;  ///< an optimizer was asked to step
    bool skipped = false;  ///< no step was made, since gradients were not finite
  };
  /// `last_batch`: no batch follows in this epoch, so that the window ends here.
  /// `weightless`: the batch is run for the sake of the other ranks, and counts for nothing.
  Outcome run(const Batch& batch, int64_t batch_idx, bool last_batch, bool weightless = false);
  /// Manual optimization has no weights: how many ranks have the next batch, over which gradients are then averaged.
  void set_ranks_with_batch(int64_t ranks) { ranks_with_batch_ = ranks; }
  /// The loss of this batch, where it counts: undefined for one that weighs nothing.
  at::Tensor counted_loss() const { return counts_ ? output_.loss : at::Tensor(); }
  /// Ends a window without a further micro-batch, for an epoch of which nobody knew that the last one was its last.
  Outcome finish_window();
  /// What training_step returned for this batch, until `drop_output`.
  const StepOutput& output() const { return output_; }
  /// Drops what training_step returned, once the batch's hooks have seen it: no graph outlives its step.
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
  /// Makes the step by a replay of its graph; false where it is to run as it is.
  bool replay();
  at::Tensor body();
  at::Tensor run_training_step();
  double weigh();
  /// Takes what the micro-batch weighs into the window.
  void add_weight(double weight);
  at::Tensor scaled(const at::Tensor& loss, double weight) const;
  at::Tensor share_of_mean(const at::Tensor& loss) const;
  void call_zero_grad(size_t index);
  /// Those of what the optimizer's groups hold now.
  Gradients& gradients_of(size_t index);
  void finish_gradients(size_t index);
  at::Tensor scale(const at::Tensor& loss) { return scaler_ ? scaler_->scale(loss) : loss; }
  void unscale(size_t index, double multiplier);
  void make_step(size_t index, const Closure& closure);
  void step_scaled(size_t index, const Closure& closure);

  RunContext& run_;
  GradScaler* scaler_;                     ///< null where losses are not scaled
  std::vector<Gradients> gradients_ = {};  ///< one for each optimizer; use `gradients_of`
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
  bool counts_ = true;            ///< this micro-batch weighs something
  double weight_before_ = 0;      ///< sum of the window's weights before this micro-batch: the body may run again
  double total_weight_ = 0;       ///< of the window on all ranks
  StepOutput output_ = {};
};

}  // namespace levin
