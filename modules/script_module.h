#pragma once
#include <levin/modules/initial_weights.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
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
      "Loss; script: the file's own method loss(input, target); auto: that where it has one, else cross_entropy",
      {.choices = script_losses()});
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
/// val_loss and test_loss; with the losses cross_entropy and nll_loss also val_acc and test_acc. The script gets
/// `input` and its result is compared to `target`; a method `loss(input, target)` of its own gets both.
class ScriptModule : public LightningModule {
 public:
  using Options = ScriptModuleOptions;

  /// Throws levin::UsageError for bad options, a file that is missing, damaged or no TorchScript, and one that has no
  /// forward, no parameters (frozen ones are constants), or not the loss that is asked for.
  explicit ScriptModule(Options options);

  /// What the script's forward makes of `input`. Throws levin::UsageError where that is no tensor.
  at::Tensor forward(const at::Tensor& input);
  /// The loss of a batch: of `forward` and `target`, or by the script itself.
  at::Tensor loss(const at::Tensor& input, const at::Tensor& target);

  /// Writes the model as it is now, on the CPU, as TorchScript that `torch.jit.load` opens in Python and in C++; the
  /// file appears whole or not at all. Throws as AtomicFile does.
  void save_script(const std::filesystem::path& path);

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  /// What forward makes of `input`.
  Batch predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  OptimizerConfig configure_optimizers() override;
  /// Writes `save_to`, on rank 0.
  void on_fit_end(Run& run) override;
  void train(bool on = true) override;

  Options options;

 private:
  c10::IValue call(const std::string& method, std::vector<c10::IValue> arguments);
  void evaluate(const Batch& batch, const std::string& stage);

  torch::jit::Module script_;
  ScriptTensors tensors_ = {};
};

}  // namespace levin
