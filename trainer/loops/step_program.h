#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/batch.h>
#include <levin/modules/step_output.h>
#include <levin/trainer/run/step_parts.h>
#include <levin/trainer/strategies/step_function.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace levin {

/// What computes the loss and the gradients of a batch under automatic optimization, and may make the optimizer's step
/// too. This one runs training_step, whose loss has a graph; CapturedStep replays graphs of the device, CompiledStep
/// runs compiled code, HostLossStep calls a function of the host program. `make_step_program` chooses one by the
/// options; a batch can have its own.
class StepProgram : public StepFunction {
 public:
  /// A step that ran from the batch's forward to the optimizer's step.
  struct WholeStep {
    StepOutput output = {};
    bool skipped = false;  ///< gradients were not finite, so that the optimizer changed nothing
  };
  struct Input {
    const Batch& batch;
    int64_t batch_idx;
    int64_t window;  ///< batches that make one step together
  };
  /// What a step in parts left on the device: its output and, with a loss scale, whether the step must be skipped
  /// (float32 [1], not 0).
  struct PartsOutput {
    StepOutput output = {};
    at::Tensor found_inf = {};
  };
  /// Makes the step of a batch in parts: training_step, backward, the optimizer's step.
  using InParts = std::function<PartsOutput(const Batch& batch)>;

  virtual ~StepProgram() = default;

  /// Makes the whole step of a batch; returns nullopt if it must run in parts.
  virtual std::optional<WholeStep> run_whole(const Input& /*input*/, const InParts& /*in_parts*/) { return {}; }
  /// Returns what computes the loss of this batch in a step in parts.
  virtual StepFunction& loss_of(const Batch& /*batch*/) { return *this; }
  /// Adds the gradients that were computed with the newest loss, times `factor`, to those of the parameters. Returns
  /// false if there are none: backward of the loss computes them.
  virtual bool add_gradients(double /*factor*/) { return false; }
  /// Counts a batch that ran without the program.
  virtual void count_other(const char* /*why*/) {}
  /// Returns what the user should know at the end about how the steps ran; empty if there is nothing to say.
  virtual std::string summary() const { return {}; }

  StepOutput operator()(LightningModule& module, const Batch& batch, int64_t batch_idx) override {
    return module.training_step(batch, batch_idx);
  }
  bool can_run_parts() const override { return true; }
};

/// The step of a batch whose loss the host program computes, in place of training_step.
class HostLossStep final : public StepProgram {
 public:
  explicit HostLossStep(std::function<StepOutput()> loss) : loss_(std::move(loss)) {}
  StepOutput operator()(LightningModule& /*module*/, const Batch& /*batch*/, int64_t /*batch_idx*/) override {
    return loss_();
  }
  bool can_run_parts() const override { return false; }

 private:
  std::function<StepOutput()> loss_;
};

/// Returns the program that the run's options choose. Throws levin::UsageError if the run's steps cannot be run so.
std::unique_ptr<StepProgram> make_step_program(const StepParts& parts);

}  // namespace levin
