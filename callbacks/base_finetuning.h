#pragma once
#include <ATen/core/Tensor.h>
#include <levin/callbacks/callback.h>
#include <torch/nn/module.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin {

/// The base class of callbacks that freeze parts of a module and train them later. A derived class overrides
/// `freeze_before_training` and `finetune_function`:
///
///     void freeze_before_training(LightningModule& module) override { freeze(*module.named_children()["backbone"]); }
///     void finetune_function(LightningModule& module, int64_t epoch, torch::optim::Optimizer& optimizer) override {
///       if (epoch == 10) unfreeze_and_add_param_group(*module.named_children()["backbone"], optimizer);
///     }
///
/// configure_optimizers returns an optimizer over the parameters that are trained from the start. Groups that were
/// added before a save exist again when the run resumes. A batch norm that is frozen with `train_bn` false keeps its
/// running statistics; under `dp` that holds for the first replica. Source: lightning.pytorch.callbacks.BaseFinetuning
class BaseFinetuning : public Callback {
 public:
  /// Freezes before optimizers are configured.
  void setup(Run& run) override;
  void on_load_checkpoint(Run& run, const State& checkpoint) override;
  void on_fit_start(Run& run) override;
  void on_train_epoch_start(Run& run) override;
  void teardown(Run& run) override;
  void on_exception(Run& run, const std::exception& error) override;

  /// Called once before a fit.
  virtual void freeze_before_training(LightningModule& module) = 0;
  /// Called at the start of each epoch, counted from 0, for each optimizer.
  virtual void finetune_function(LightningModule& module, int64_t epoch, torch::optim::Optimizer& optimizer) = 0;

  /// PyTorch Lightning's key, internal_optimizer_metadata, and frozen_batch_norms.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 protected:
  /// Freezes the parameters of `module` and of all its submodules; with `train_bn` batch norms are trained on.
  void freeze(torch::nn::Module& module, bool train_bn = true);
  void make_trainable(torch::nn::Module& module);
  /// Returns the parameters of `module` and of all its submodules that require gradients or do not; without `train_bn`
  /// those of batch norms are left out.
  static std::vector<at::Tensor> filter_params(torch::nn::Module& module, bool train_bn = true,
                                               bool requires_grad = true);
  /// Makes `module` trainable and adds its parameters to `optimizer` as a new group with its default options; those
  /// that the optimizer has already are left out, with a warning. `lr`: the group's rate; unset: that of the first
  /// group divided by `initial_denom_lr`.
  void unfreeze_and_add_param_group(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
                                    std::optional<double> lr = {}, double initial_denom_lr = 10, bool train_bn = true);

 private:
  void stop_statistics(torch::nn::Module& norm);
  void resume_statistics(torch::nn::Module& norm);
  void put_momenta_back();

  std::map<torch::nn::Module*, std::optional<double>> momenta_ = {};  ///< of frozen batch norms, which have 0 meanwhile
  std::map<torch::nn::Module*, std::string> names_ = {};
  State metadata_ = State::dict();
  std::optional<std::vector<std::string>> loaded_frozen_norms_ = {};
};

}  // namespace levin
