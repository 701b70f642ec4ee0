#pragma once
#include <levin/data/batch.h>
#include <levin/modules/step_output.h>
#include <levin/trainer/compiled/compiled_code.h>
#include <levin/trainer/compiled/step_description.h>
#include <levin/trainer/compiled/step_optimizer.h>
#include <levin/trainer/compiled/step_trace.h>
#include <levin/trainer/run/step_parts.h>
#include <torch/csrc/autograd/edge.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// Runs the package of a compiled step in place of forward and backward.
///
/// The first batch that the package takes is also traced: the package must be of just this step. Batches of other
/// shapes, and steps whose module is in another mode or has other parameters, run eagerly and are counted.
///
///     if (compiled.takes(batch)) output = strategy.run_step(compiled.as_batch(), batch_idx);
///     compiled.has_gradients() ? compiled.give_gradients(factor) : strategy.backward(output.loss * factor, sync);
class CompiledStep {
 public:
  /// All of `parts` must outlive the object.
  CompiledStep(const StepParts& parts, std::filesystem::path path, compiled::StepDescription description,
               std::unique_ptr<compiled::CompiledCode> code);

  /// Returns whether the package runs this batch. Throws levin::UsageError if it is the package of another step.
  bool takes(const Batch& batch);
  /// The last batch that was taken, as strategies run it: its step is the compiled one.
  const Batch& as_batch() const { return as_batch_; }
  /// Returns whether the step's gradients wait for `give_gradients`. Otherwise the loss has a graph, whose backward
  /// gives them: with several ranks, whose reducer works inside of a backward, and if the module overrides backward.
  bool has_gradients() const { return !gradients_.empty(); }
  /// Adds the gradients, times `factor`, to those of the parameters, and calls the hooks of these.
  void give_gradients(double factor);

  /// Returns whether the code also makes the optimizer's step, so that nothing of the step is left to do.
  bool makes_optimizer_steps() const { return description_.makes_optimizer_steps(); }
  /// Counts a batch that is not given to the package.
  void count_eager(const std::string& why);

  /// Returns how many batches ran compiled, how many eagerly, and why the first of those did.
  std::string summary() const;

 private:
  StepOutput run();
  void look_at_module(const Batch& batch);
  void check(const Batch& batch);
  bool take_batch(const Batch& batch);
  bool is_as_traced() const;
  bool run_eagerly(const std::string& why);
  std::string recompile_advice() const;
  void make_optimizer(const std::vector<compiled::StepInput>& inputs);

  StepParts parts_;
  std::filesystem::path path_;
  compiled::StepDescription description_;
  std::unique_ptr<compiled::CompiledCode> code_;
  Batch as_batch_;
  bool needs_no_graph_;

  std::vector<at::Tensor> inputs_ = {};      ///< of the code: parameters, buffers, the batch
  std::vector<at::Tensor> parameters_ = {};  ///< those with gradients
  /// Of `parameters_`; kept, because each step would make new ones.
  std::vector<torch::autograd::Edge> accumulators_ = {};
  std::unique_ptr<compiled::StepOptimizer> optimizer_ = {};  ///< null unless the code makes its steps
  std::vector<std::pair<const torch::nn::Module*, bool>> modes_ = {};
  std::vector<StepLog::Entry> logged_ = {};  ///< names and options
  std::vector<at::Tensor> gradients_ = {};
  bool is_checked_ = false;
  int64_t compiled_batches_ = 0, eager_batches_ = 0;
  std::string why_eager_ = {};
};

/// Returns why a package cannot make the optimizer's steps of this run; empty if it can.
std::string why_not_with_optimizer(const StepParts& parts);

/// Returns the CompiledStep of a run with the option compiled_step, else null. Throws levin::UsageError if the package
/// cannot be read or is not for this machine, and if the run's steps cannot be replaced: a device other than the CPU, a
/// loss scale, and, for a package that makes the optimizer's steps, what `why_not_with_optimizer` says.
std::unique_ptr<CompiledStep> make_compiled_step(const StepParts& parts);

}  // namespace levin
