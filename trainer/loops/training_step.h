#pragma once
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lightning_optimizer.h>
#include <levin/trainer/loops/run_optimizers.h>
#include <levin/trainer/loops/step_program.h>
#include <levin/trainer/run/step_parts.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace levin {

/// How the ranks of a run hold the batch of a step.
struct BatchOnRanks {
  bool is_idle = false;          ///< this rank runs the batch for the sake of the others, and it counts for nothing
  int64_t ranks_with_batch = 1;  ///< the others that are not idle, with this one; read under manual optimization
};

/// One training step at a time, for anybody who holds a batch: the loss, backward, and the optimizers' steps. It needs
/// no loader and no epoch; the caller keeps all counters but those of the accumulation window.
class TrainingStep : public OptimizerDriver {
 public:
  /// The result of a micro-batch.
  struct Outcome {
    bool window_done = false;
    bool stepped = false;               ///< an optimizer was asked to step
    bool skipped = false;               ///< no step was made, since gradients were not finite
    std::optional<double> weight = {};  ///< of the batch, if training_step returned one
    bool counts = false;                ///< the batch has a part in what its window learns
    double window_weight = 0;           ///< of a window that is done: the sum over its batches and all ranks
    at::Tensor loss = {};               ///< of the batch, without its graph, if the caller has asked for it
  };

  /// Runs one micro-batch. `last_of_epoch`: no batch follows in this epoch, so the window ends here. `program` runs it
  /// in place of the run's; null: the run's.
  virtual Outcome run(const Batch& batch, int64_t batch_idx, bool last_of_epoch, const BatchOnRanks& on_ranks,
                      StepProgram* program = nullptr) = 0;
  /// Ends an open window without a further micro-batch, if an epoch ends where nobody expected it.
  virtual Outcome finish_window() = 0;

  /// While `forward_only`, a batch runs forward and nothing learns from it.
  virtual void set_forward_only(bool /*forward_only*/) {}

  /// Returns what the user should know at the end about how the steps ran; empty if there is nothing to say.
  virtual std::string summary() const { return {}; }

  /// Returns the loss of the newest batch; undefined if the batch counts for nothing.
  at::Tensor counted_loss() const { return counts_ ? output_.loss : at::Tensor(); }
  /// Returns the same without its graph.
  at::Tensor loss_without_graph() const;
  /// Drops what training_step returned, once the batch's hooks have seen it: no graph outlives its step. Until then
  /// StepContext::output points to it.
  void drop_output();

  size_t size() const override { return optimizers_.size(); }
  torch::optim::Optimizer& raw(size_t index) override { return optimizers_.raw(index); }
  void zero_grad(size_t index) override { optimizers_.zero_grad(index); }

 protected:
  explicit TrainingStep(const StepParts& parts) : parts_(parts), optimizers_(parts) {}
  /// Computes the loss of a batch under the precision's context and keeps the output; returns the loss.
  at::Tensor compute_loss(StepFunction& function, const Batch& batch, int64_t batch_idx);
  void set_output(StepOutput output);
  /// Returns the weight that training_step returned, if it did. Host sync if it is on a device.
  std::optional<double> given_weight() const;
  /// Evaluates an optimizer's closure, if there is one, ahead of the step: with a loss scale the gradients decide
  /// whether the step is made.
  static void run_closure(const Closure& closure);
  /// backward between its hooks. `sync`: the ranks reduce their gradients.
  void call_backward(at::Tensor scaled_loss, bool sync);

  StepParts parts_;
  RunOptimizers optimizers_;
  StepProgram eager_ = {};
  StepOutput output_ = {};
  bool counts_ = true;  ///< the newest micro-batch has a weight
};

/// Returns the step of a module's kind of optimization, automatic or manual. Throws levin::UsageError if the options or
/// the optimizers do not fit that kind.
std::unique_ptr<TrainingStep> make_training_step(const StepParts& parts);

}  // namespace levin
