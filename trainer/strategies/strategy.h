#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/core/ranks/comm.h>
#include <levin/core/run/step_context.h>
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/strategies/rank_sync.h>
#include <levin/trainer/strategies/step_function.h>
#include <levin/trainer/strategies/strategy_state.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace levin {

using EvaluationStep = void (LightningModule::*)(const Batch& batch, int64_t batch_idx);

/// Places a run's module on one device or many and runs its steps. The loops use only this interface; checkpoints use
/// `state`.
///
/// All functions are pure virtual, so that a wrapper of another strategy cannot forget one.
class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual Comm& comm() = 0;
  /// Returns the devices, as text for people: "cuda:0, cuda:1".
  virtual std::string where() const = 0;
  /// Returns the device of this rank's batches.
  virtual c10::Device device() const = 0;
  /// Returns the numbers on which the ranks agree.
  virtual RankSync& rank_sync() = 0;

  /// Sets the module's view of the run, which must outlive the strategy's use. Called before `place`.
  virtual void set_context(StepContext& context) = 0;
  /// Calls the module's configure_model, unless it was called before for this module. Collective: all ranks call it.
  virtual void configure_model(LightningModule& module) = 0;
  /// Moves the module to its device, unless it is to stay where it is. The caller keeps the module, which must outlive
  /// the strategy's use.
  virtual void place(LightningModule& module) = 0;
  /// Called once, after configure_optimizers and before any state is applied.
  virtual void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) = 0;
  /// Called once, after the run's last step: the module has its whole parameters again. Collective: all ranks call it.
  virtual void give_back() = 0;
  /// Returns what checkpoints hold of this strategy's ranks.
  virtual StrategyState& state() = 0;

  virtual Batch to_device(Batch batch) = 0;
  /// Computes the loss of a batch, on one device or several.
  virtual StepOutput run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) = 0;
  /// Calls `step`, which runs a batch that this rank does not have, for the ranks that do: their collectives need all
  /// ranks. The batch counts for nothing, and `metrics` are afterwards as before.
  virtual void run_idle(const std::set<LoggedMetric*>& metrics, const std::function<void()>& step) = 0;
  /// Makes all ranks see the same buffers. Called by all ranks before the batches of an evaluation.
  virtual void begin_evaluation() = 0;
  /// Runs validation_step or test_step.
  virtual void run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) = 0;
  virtual Batch run_predict_step(const Batch& batch, int64_t batch_idx) = 0;
  /// Computes the gradients of `loss`. `sync` is true only in the last micro-batch of a window.
  virtual void backward(const at::Tensor& loss, bool sync) = 0;
  /// Takes part in the other ranks' `backward` of a micro-batch if this rank has no loss.
  virtual void backward_without_loss(bool sync) = 0;
  /// Returns the gradient norm over all ranks, from the norm of this rank's share.
  virtual at::Tensor reduce_norm(const at::Tensor& norm) = 0;
  /// Drops gradients that the strategy keeps besides the parameters' own. Called when an optimizer's gradients are
  /// dropped.
  virtual void zero_grad(torch::optim::Optimizer& optimizer) = 0;
  virtual void step(torch::optim::Optimizer& optimizer, const Closure& closure) = 0;
};

}  // namespace levin
