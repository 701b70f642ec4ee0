#pragma once
#include <levin/modules/imported_module.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/nn/output_metric.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// Returns the choices of a ProgramModule's option `loss`.
std::vector<std::string> program_losses();

struct ProgramModuleOptions {
  std::string program = LEVIN_OPTION(program, "", "Program file (.pt2), written by Python's torch.export.save");
  Choice<NamedLoss> loss = LEVIN_OPTION(
      loss, NamedLoss::Auto,
      "Loss; output: the program computes it itself, from inputs of which one is the target; auto: that if the output "
      "is one number, else cross_entropy for classes and mse_loss for numbers",
      {.choices_of = program_losses});
  std::vector<std::string> inputs = LEVIN_OPTION(
      inputs, {}, "Entries of the batch that forward takes, in order; unset: those of its parameters' names, or input");
  std::string output = LEVIN_OPTION(
      output, "", "Output that the loss takes, if forward returns several: its key or number; unset: the first");
  Choice<OutputMetric> metric = LEVIN_OPTION(metric, OutputMetric::None,
                                             "What validation and test log besides the loss, for programs that compute "
                                             "their loss themselves: of metric_output");
  std::string metric_output = LEVIN_OPTION(
      metric_output, "",
      "Output that `metric` and `metrics` are of: its key or number; unset: the first that is not the loss, for "
      "`metrics` the one that a loss by name takes");
  std::string metric_target = LEVIN_OPTION(
      metric_target, "", "Entry of the batch that `metric` and `metrics` compare with; unset: target, or else labels");
  std::vector<std::string> operators = LEVIN_OPTION(
      operators, {}, "Namespaces of operators, besides PyTorch's own, that the program may call: torchvision, say");
  Choice<ClassDimension> class_dimension = LEVIN_OPTION(
      class_dimension, ClassDimension::Auto,
      "Dimension of the output that counts the classes: second [samples, classes, ...], last [samples, ..., "
      "classes], or auto, the one that fits the target");
  std::string save_to = LEVIN_OPTION(save_to, "", "File that gets the trained program when fit ends; empty: none");
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Adam"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};           // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

/// Trains a model that Python exported (`torch.export.save(torch.export.export(model, example_inputs), path)`), without
/// Python.
///
/// Parameters, persistent buffers and parts have Python's names; state dicts fit in both directions. All parts start in
/// train mode, and `train` and `eval` switch dropout, batch norm and the like, as in Python before the export. Device
/// and precision follow the module. The file is data: it is checked, and it can only call operators that compute.
///
/// Inputs are the tensors of forward's arguments in order; those in dicts and lists are named by their paths,
/// "features.ids", and batches may name them by the end of it, "ids".
class ProgramModule : public ImportedModule {
 public:
  using Options = ProgramModuleOptions;
  using ImportedModule::forward;

  /// Throws levin::UsageError for bad options, a file that is missing, damaged or no exported program, and a program
  /// without parameters, with operators that are not permitted, or that was decomposed for inference.
  explicit ProgramModule(Options options);
  ~ProgramModule() override;

  /// Returns the output that the option `output` names. Throws levin::UsageError if the inputs differ in number,
  /// dimensions or dtype from those of the export, or have sizes that were fixed there or are out of their range.
  at::Tensor forward(const std::vector<at::Tensor>& inputs) override;
  /// Returns all outputs, in the order of Python's; undefined for those that are no tensors.
  std::vector<at::Tensor> run_program(const std::vector<at::Tensor>& inputs);
  /// Returns the names of the inputs and of the outputs.
  const std::vector<std::string>& input_names() const;
  const std::vector<std::string>& output_names() const;
  ImportedTensor described_output() const override;

  /// Writes the program with the present weights, adapters merged into them, in the modes that its parts are in, to a
  /// file that Python's torch.export.load opens. The write is atomic. Throws as AtomicFile does.
  void save_program(const std::filesystem::path& path) const;

  Options options;

 private:
  class Impl;

  Choices choices() const override;
  ImportedTensor described_parameter(size_t place) const override;
  bool has_own_loss() const override;
  bool takes_target() const override { return has_own_loss(); }
  at::Tensor own_loss(const std::vector<at::Tensor>& inputs, const at::Tensor& target) override;
  ClassDimension known_class_dimension() const override;
  std::vector<at::Tensor> outputs_of(const std::vector<at::Tensor>& inputs) override { return run_program(inputs); }
  at::Tensor result_of(const std::vector<at::Tensor>& outputs) const override;
  void log_metrics(const Batch& batch, const std::vector<at::Tensor>& outputs, const std::string& stage) override;
  std::pair<at::Tensor, at::Tensor> measured_of(const Batch& batch,
                                                const std::vector<at::Tensor>& outputs) const override;
  at::Tensor chosen(const std::vector<at::Tensor>& outputs) const;
  at::Tensor output_to_measure(const std::vector<at::Tensor>& outputs, size_t place) const;
  const at::Tensor& metric_target_of(const Batch& batch) const;
  void save_as_file(const std::filesystem::path& path) override { save_program(path); }

  std::unique_ptr<Impl> impl_;
};

}  // namespace levin
