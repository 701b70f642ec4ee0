#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
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
  std::string loss = LEVIN_OPTION(
      loss, "auto",
      "Loss; script: the file's own method loss(inputs..., target); auto: that where it has one, else cross_entropy "
      "for classes and mse_loss for numbers",
      {.choices_of = script_losses});
  std::vector<std::string> inputs = LEVIN_OPTION(
      inputs, {}, "Entries of the batch that forward takes, in order; unset: those of its parameters' names, or input");
  std::string save_to = LEVIN_OPTION(save_to, "", "File that gets the trained TorchScript when fit ends; empty: none");
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Adam"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
};

/// Trains a model that Python saved as TorchScript (`torch.jit.script(model).save(path)`, or torch.jit.trace), without
/// Python.
///
/// Parameters and buffers have Python's names and are shared with the script, which sees every change that an
/// optimizer, `to` or `load_weights` makes. All parts start in train mode, whatever mode the file was saved in. Logs
/// train_loss; val_loss and test_loss; with the losses cross_entropy and nll_loss also val_acc and test_acc. The script
/// receives the batch entries listed in `inputs`, by default the entries named like forward's parameters, except that a
/// first parameter of another name receives `input`. The result is compared to `target`. A script method
/// `loss(inputs..., target)` receives the inputs and the target.
class ScriptModule : public LightningModule {
 public:
  using Options = ScriptModuleOptions;

  /// Throws levin::UsageError for bad options, a file that is missing, damaged or not TorchScript, and a script without
  /// forward, without parameters (frozen ones are constants), without the requested loss, or with another number of
  /// inputs.
  explicit ScriptModule(Options options);

  /// Calls the script's forward. Throws levin::UsageError if the result is not a tensor.
  at::Tensor forward(const at::Tensor& input) { return forward(std::vector<at::Tensor>{input}); }
  at::Tensor forward(const std::vector<at::Tensor>& inputs);
  /// Computes the loss of a batch from `forward` and `target`, or by the script's own loss. Throws levin::UsageError if
  /// the loss does not support these tensors, or if `auto` is ambiguous.
  at::Tensor loss(const at::Tensor& input, const at::Tensor& target) {
    return loss(std::vector<at::Tensor>{input}, target);
  }
  at::Tensor loss(const std::vector<at::Tensor>& inputs, const at::Tensor& target);

  /// Writes the current model, on the CPU, as TorchScript that `torch.jit.load` opens in Python and in C++. The write
  /// is atomic. Throws as AtomicFile does.
  void save_script(const std::filesystem::path& path);

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  /// Returns the result of forward.
  Batch predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  OptimizerConfig configure_optimizers() override;
  /// Writes `save_to`, with the model in eval mode, on rank 0.
  void on_fit_end(Run& run) override;
  void train(bool on = true) override;

  Options options;

 private:
  c10::IValue call(const std::string& method, std::vector<c10::IValue> arguments);
  void evaluate(const Batch& batch, const std::string& stage);
  std::vector<at::Tensor> inputs_of(const Batch& batch);
  void warn_of_unused(const Batch& batch, const std::vector<std::string>& used);

  torch::jit::Module script_;
  std::vector<std::string> parameter_names_;  ///< forward's parameters
  size_t required_inputs_ = 0;                ///< forward's parameters without a default
  bool looked_for_unused_ = false;
  ScriptTensors tensors_ = {};
};

}  // namespace levin
