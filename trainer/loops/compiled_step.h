#pragma once
#include <levin/data/batch.h>
#include <levin/trainer/compiled/compiled_code.h>
#include <levin/trainer/compiled/step_description.h>
#include <levin/trainer/compiled/step_optimizer.h>
#include <levin/trainer/compiled/step_trace.h>
#include <levin/trainer/loops/step_program.h>
#include <torch/csrc/autograd/edge.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// Runs the package of a compiled step in place of forward and backward.
///
/// The first batch that the package takes is also traced: the package must be of just this step. Batches of other
/// shapes, and steps whose module is in another mode or has other parameters, run eagerly and are counted. A package
/// that makes the optimizer's steps too runs whole steps. The others return gradients with the loss, except where the
/// loss must have a graph whose backward gives them: with several ranks, whose reducer works inside of a backward, and
/// if the module overrides backward.
class CompiledStep final : public StepProgram {
 public:
  /// All of `parts` must outlive the object.
  CompiledStep(const StepParts& parts, std::filesystem::path path, compiled::StepDescription description,
               std::unique_ptr<compiled::CompiledCode> code);

  /// Throws levin::UsageError if it is the package of another step; so does `loss_of`.
  std::optional<WholeStep> run_whole(const Input& input, const InParts& in_parts) override;
  /// Returns this object if the package runs the batch, else training_step.
  StepFunction& loss_of(const Batch& batch) override;
  /// Also calls the hooks of the parameters' gradients.
  bool add_gradients(double factor) override;
  void count_other(const char* why) override;
  /// Returns how many batches ran compiled, how many eagerly, and why the first of those did.
  std::string summary() const override;

  StepOutput operator()(LightningModule& module, const Batch& batch, int64_t batch_idx) override;
  bool can_run_parts() const override { return false; }

 private:
  /// Returns whether the package runs this batch.
  bool takes(const Batch& batch);
  void look_at_module(const Batch& batch);
  void check(const Batch& batch);
  bool take_batch(const Batch& batch);
  bool is_as_traced() const;
  bool makes_optimizer_steps() const { return description_.makes_optimizer_steps(); }
  bool run_eagerly(const std::string& why);
  std::string recompile_advice() const;
  void make_optimizer(const std::vector<compiled::StepInput>& inputs);

  StepParts parts_;
  std::filesystem::path path_;
  compiled::StepDescription description_;
  std::unique_ptr<compiled::CompiledCode> code_;
  StepProgram eager_ = {};
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

/// Returns the CompiledStep of a run with the option compiled_step. Throws levin::UsageError if the package
/// cannot be read or is not for this machine, and if the run's steps cannot be replaced: a device other than the CPU, a
/// loss scale, and, for a package that makes the optimizer's steps, what `why_not_with_optimizer` says.
std::unique_ptr<CompiledStep> make_compiled_step(const StepParts& parts);

}  // namespace levin
