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

/// What the option `loss` of a ScriptModule can be.
const std::vector<std::string>& script_losses();

struct ScriptModuleOptions {
  std::string file = LEVIN_OPTION(file, "", "TorchScript file, written by Python's torch.jit.save");
  std::string loss = LEVIN_OPTION(
      loss, "auto",
      "Loss; script: the file's own method loss(inputs..., target); auto: that where it has one, else cross_entropy "
      "for classes and mse_loss for numbers",
      {.choices = script_losses()});
  std::vector<std::string> inputs = LEVIN_OPTION(
      inputs, {}, "Entries of the batch that forward takes, in order; unset: those of its parameters' names, or input");
  std::string save_to = LEVIN_OPTION(save_to, "", "File that gets the trained TorchScript when fit ends; empty: none");
  InitialWeights initial = {};  // its options stand beside the others
  Part<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Adam"}, "Optimizer");
  Part<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
};

/// Trains a model that Python saved as TorchScript (`torch.jit.script(model).save(path)`, or torch.jit.trace), without
/// Python.
///
/// Parameters and buffers have Python's names, and are the script's own: what an optimizer, `to` or `load_weights` does
/// to them, the script sees. All parts begin in train mode, whatever mode the file was saved in. Logs train_loss;
/// val_loss and test_loss; with the losses cross_entropy and nll_loss also val_acc and test_acc. The script gets the
/// entries of the batch that `inputs` names, by default those that forward's parameters are named after, where the
/// first may have any name and is then `input`; its result is compared to `target`. A method `loss(inputs..., target)`
/// of its own gets all of them.
class ScriptModule : public LightningModule {
 public:
  using Options = ScriptModuleOptions;

  /// Throws levin::UsageError for bad options, a file that is missing, damaged or no TorchScript, and one that has no
  /// forward, no parameters (frozen ones are constants), not the loss that is asked for, or another number of inputs.
  explicit ScriptModule(Options options);

  /// What the script's forward makes of `input`. Throws levin::UsageError where that is no tensor.
  at::Tensor forward(const at::Tensor& input) { return forward(std::vector<at::Tensor>{input}); }
  at::Tensor forward(const std::vector<at::Tensor>& inputs);
  /// The loss of a batch: of `forward` and `target`, or by the script itself. Throws levin::UsageError where the loss
  /// cannot be of such tensors, and where `auto` cannot tell which is meant.
  at::Tensor loss(const at::Tensor& input, const at::Tensor& target) {
    return loss(std::vector<at::Tensor>{input}, target);
  }
  at::Tensor loss(const std::vector<at::Tensor>& inputs, const at::Tensor& target);

  /// Writes the model as it is now, on the CPU, as TorchScript that `torch.jit.load` opens in Python and in C++; the
  /// file appears whole or not at all. Throws as AtomicFile does.
  void save_script(const std::filesystem::path& path);

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  /// What forward makes of the inputs.
  Batch predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  OptimizerConfig configure_optimizers() override;
  /// Writes `save_to` in eval mode, ready for use, on rank 0.
  void on_fit_end(Run& run) override;
  void train(bool on = true) override;

  Options options;

 private:
  c10::IValue call(const std::string& method, std::vector<c10::IValue> arguments);
  void evaluate(const Batch& batch, const std::string& stage);
  std::vector<at::Tensor> inputs_of(const Batch& batch);
  void warn_of_unused(const Batch& batch, const std::vector<std::string>& used);

  torch::jit::Module script_;
  std::vector<std::string> parameter_names_;  ///< of forward
  size_t required_inputs_ = 0;                ///< forward's parameters without a default
  bool looked_for_unused_ = false;
  ScriptTensors tensors_ = {};
};

}  // namespace levin
