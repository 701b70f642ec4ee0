#pragma once
#include <levin/modules/imported_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/optim/registry.h>
#include <levin/modules/script_part.h>

#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// Returns the choices of a ScriptModule's option `loss`.
std::vector<std::string> script_losses();

struct ScriptModuleOptions {
  std::string file = LEVIN_OPTION(file, "", "TorchScript file, written by Python's torch.jit.save");
  Choice<NamedLoss> loss = LEVIN_OPTION(
      loss, NamedLoss::Auto,
      "Loss; script: the file's own method loss(inputs..., target); auto: that where it has one, else cross_entropy "
      "for classes and mse_loss for numbers",
      {.choices_of = script_losses});
  std::vector<std::string> inputs = LEVIN_OPTION(
      inputs, {}, "Entries of the batch that forward takes, in order; unset: those of its parameters' names, or input");
  Choice<ClassDimension> class_dimension = LEVIN_OPTION(
      class_dimension, ClassDimension::Auto,
      "Dimension of the output that counts the classes: second [samples, classes, ...], last [samples, ..., "
      "classes], or auto, the one that fits the target");
  std::string save_to = LEVIN_OPTION(save_to, "", "File that gets the trained TorchScript when fit ends; empty: none");
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Adam"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};           // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

/// Trains a model that Python saved as TorchScript (`torch.jit.script(model).save(path)`, or torch.jit.trace), without
/// Python.
///
/// Parameters and buffers have Python's names and are shared with the script, which sees every change that an
/// optimizer, `to` or `load_weights` makes. All parts start in train mode, whatever mode the file was saved in. A
/// script method `loss(inputs..., target)` receives the inputs and the target.
class ScriptModule : public ImportedModule {
 public:
  using Options = ScriptModuleOptions;
  using ImportedModule::forward;

  /// Throws levin::UsageError for bad options, a file that is missing, damaged or not TorchScript, and a script without
  /// forward, without parameters (frozen ones are constants), without the requested loss, or whose forward does not
  /// take as many inputs as `inputs` names.
  explicit ScriptModule(Options options);

  /// Calls the script's forward. Throws levin::UsageError if the result is not a tensor.
  at::Tensor forward(const std::vector<at::Tensor>& inputs) override;

  /// Writes the current model, adapters merged into its weights, on the CPU, as TorchScript that `torch.jit.load` opens
  /// in Python and in C++. The write is atomic. Throws as AtomicFile does.
  void save_script(const std::filesystem::path& path);

  void train(bool on = true) override;

  Options options;

 private:
  Choices choices() const override;
  bool has_own_loss() const override;
  at::Tensor own_loss(const std::vector<at::Tensor>& inputs, const at::Tensor& target) override;
  void save_as_file(const std::filesystem::path& path) override { save_script(path); }
  c10::IValue call(const std::string& method, std::vector<c10::IValue> arguments);

  torch::jit::Module script_;
  ScriptTensors tensors_ = {};
};

}  // namespace levin
