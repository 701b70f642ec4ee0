#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/state.h>
#include <levin/trainer/core/step_context.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin {

using EvaluationStep = void (LightningModule::*)(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx);

/// Where a run's module lives and how its steps are made, on one device or many. The loops call nothing else.
///
/// All functions are pure, so that a strategy around another one can forget none of them.
class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual const char* name() const = 0;
  virtual Comm& comm() = 0;
  /// The devices, for people: "cuda:0, cuda:1".
  virtual std::string where() const = 0;
  /// The device of this rank's batches.
  virtual c10::Device device() const = 0;

  /// What the module sees of the run; it outlives the strategy's use. Called before `place`.
  virtual void set_context(StepContext& context) = 0;
  /// Moves the module to its device, unless it is to stay where it is. The module stays with the caller and must
  /// outlive the strategy's use.
  virtual void place(LightningModule& module) = 0;
  /// Called once, after configure_optimizers and before any state is applied.
  virtual void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) = 0;

  virtual Batch to_device(Batch batch) = 0;
  /// training_step, on however many devices.
  virtual StepOutput run_step(const Batch& batch, int64_t batch_idx) = 0;
  /// Called by all ranks before the batches of an evaluation: all of them see the same buffers.
  virtual void begin_evaluation() = 0;
  /// validation_step or test_step.
  virtual void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx,
                                   int64_t dataloader_idx) = 0;
  virtual Batch run_predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) = 0;
  /// The gradients of `loss`; `sync` is false in all micro-batches of a window but the last.
  virtual void backward(const at::Tensor& loss, bool sync) = 0;
  /// Takes part in the backward that ends a window where this rank has no loss.
  virtual void backward_of_nothing() = 0;
  /// What this rank's window weighs goes to the others; before the backward that ends it.
  virtual void begin_sum_of_weights(double own) = 0;
  /// What the window weighs on all ranks together; after that backward.
  virtual double sum_of_weights() = 0;
  /// The norm over all ranks, from that of this rank's share of the gradients.
  virtual at::Tensor reduce_norm(const at::Tensor& norm) = 0;
  /// Called where an optimizer's gradients are dropped, for those that the strategy has beside its parameters'.
  virtual void zero_grad(torch::optim::Optimizer& optimizer) = 0;
  virtual void step(torch::optim::Optimizer& optimizer, const Closure& closure) = 0;
  /// The whole state of an optimizer, from wherever its parts are, in the layout of Python's optimizers; on the rank
  /// that writes checkpoints. Called by all ranks.
  virtual State optimizer_state(torch::optim::Optimizer& optimizer) = 0;
  /// Puts such a state back. Throws levin::UsageError where it does not fit; the optimizer is then unchanged.
  virtual void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) = 0;
  /// What the strategy itself needs to go on exactly; nothing where it needs nothing.
  virtual State state_dict() const = 0;
  /// Called after `attach`. Throws levin::UsageError for the state of another module.
  virtual void load_state_dict(const State& state) = 0;
  /// What any rank has asked for, as bits, the same on all ranks. It costs no message of its own: what this rank asks
  /// for goes with the weights of the next window, and what comes back was sent with those of the last one.
  virtual uint64_t agree(uint64_t bits) = 0;
  /// The same, up to now: a message to all ranks, which must all call it.
  virtual uint64_t agree_now(uint64_t bits) = 0;
};

}  // namespace levin
