#pragma once
#include <c10/core/ScalarType.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/named_metrics.h>
#include <levin/modules/nn/class_layout.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/named_loss.h>
#include <levin/modules/optim/registry.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// What a file tells of a tensor that forward takes or returns.
struct ImportedTensor {
  std::string name = {};                           ///< the entry of a batch
  std::optional<at::ScalarType> dtype = {};        ///< unset: the file does not tell
  std::optional<std::vector<int64_t>> sizes = {};  ///< -1: a size that may differ; unset: the file does not tell
};

/// A module whose forward Python has saved to a file: what ScriptModule and ProgramModule share. Logs train_loss;
/// val_loss and test_loss; with the losses cross_entropy and nll_loss also val_acc and test_acc, of the targets that
/// are not ignored (-100); and the option `metrics`. forward receives the entries of the batch that are named like its
/// parameters, except that a first parameter of another name receives `input`. The result is compared to `target`.
class ImportedModule : public LightningModule {
 public:
  /// Calls the model's forward. Throws levin::UsageError if the inputs or the result do not fit.
  virtual at::Tensor forward(const std::vector<at::Tensor>& inputs) = 0;
  at::Tensor forward(const at::Tensor& input) { return forward(std::vector<at::Tensor>{input}); }
  /// Computes the loss of a batch from `forward` and `target`, or by the model's own loss. Throws levin::UsageError if
  /// the loss does not support these tensors, or if `auto` is ambiguous.
  at::Tensor loss(const at::Tensor& input, const at::Tensor& target) {
    return loss(std::vector<at::Tensor>{input}, target);
  }
  at::Tensor loss(const std::vector<at::Tensor>& inputs, const at::Tensor& target);

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns the result of forward.
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  OptimizerConfig configure_optimizers() override;
  /// Returns forward's inputs in order, by the names of the batch's entries, as far as the file tells.
  std::vector<ImportedTensor> described_inputs() const;
  /// Returns what predict_step returns, as far as the file tells.
  virtual ImportedTensor described_output() const { return {.name = "input"}; }
  /// Writes `save_to`, with the model in eval mode, on rank 0.
  void on_fit_end(Run& run) override;

 protected:
  using LightningModule::LightningModule;

  /// The options that such modules share.
  struct Choices {
    const std::string& file;
    NamedLoss loss;
    const std::vector<std::string>& inputs;
    ClassDimension class_dimension;
    const std::string& save_to;
    const ClassChoice<optim::OptimizerKind>& optimizer;
    const ClassChoice<LRSchedulerKind>& lr_scheduler;
    const ParameterGroups& groups;
    const metrics::MetricChoices& measured;
  };
  virtual Choices choices() const = 0;
  /// Returns whether `loss` is the one that the file computes itself.
  virtual bool has_own_loss() const = 0;
  virtual at::Tensor own_loss(const std::vector<at::Tensor>& inputs, const at::Tensor& target) = 0;
  virtual void save_as_file(const std::filesystem::path& path) = 0;
  /// Returns what the file tells of forward's parameter `place`, besides the name.
  virtual ImportedTensor described_parameter(size_t /*place*/) const { return {}; }
  /// Returns the dimension of the classes, where the option leaves it open and the file tells.
  virtual ClassDimension known_class_dimension() const { return ClassDimension::Auto; }
  /// Returns all that forward returns, and of that what the loss takes.
  virtual std::vector<at::Tensor> outputs_of(const std::vector<at::Tensor>& inputs) { return {forward(inputs)}; }
  virtual at::Tensor result_of(const std::vector<at::Tensor>& outputs) const { return outputs.front(); }
  /// Logs what is measured of the outputs besides the loss, in validation and test.
  virtual void log_metrics(const Batch& /*batch*/, const std::vector<at::Tensor>& /*outputs*/,
                           const std::string& /*stage*/) {}
  /// Returns the output that the option `metrics` is of, and what it is compared with.
  virtual std::pair<at::Tensor, at::Tensor> measured_of(const Batch& batch,
                                                        const std::vector<at::Tensor>& outputs) const {
    return {result_of(outputs), batch.target()};
  }
  /// Returns whether the inputs of `own_loss` include the target, and the loss is one of forward's outputs.
  virtual bool takes_target() const { return false; }

  /// Takes the option `metrics`; the constructor calls it. `own` are the names that the module `module` logs itself.
  void set_metrics(const std::string& module, const std::vector<std::string>& own);
  /// Sets the names of forward's parameters, of which the first `required` have no default. Throws levin::UsageError if
  /// `inputs` names another number of them.
  void set_parameter_names(std::vector<std::string> names, size_t required);

 private:
  void evaluate(const Batch& batch, const std::string& stage);
  ClassDimension class_dimension() const;
  NamedLoss loss_for_tensors(const at::Tensor& output, const at::Tensor& target) const;
  at::Tensor compared(NamedLoss loss, const at::Tensor& output, const at::Tensor& target) const;
  at::Tensor loss_of(const Batch& batch);
  void log_named_metrics(const Batch& batch, const std::vector<at::Tensor>& outputs, const std::string& stage);
  std::vector<at::Tensor> inputs_of(const Batch& batch);
  void warn_of_unused(const Batch& batch, const std::vector<std::string>& used);

  std::vector<std::string> parameter_names_ = {};  ///< forward's parameters
  size_t required_inputs_ = 0;                     ///< forward's parameters without a default
  bool looked_for_unused_ = false;
  metrics::NamedMetrics named_metrics_ = {};
};

}  // namespace levin
