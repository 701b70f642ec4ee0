#pragma once
#include <levin/callbacks/base_finetuning.h>
#include <levin/core/options/option.h>

#include <functional>
#include <optional>

namespace levin {

struct BackboneFinetuningOptions {
  int64_t unfreeze_backbone_at_epoch =
      LEVIN_OPTION(unfreeze_backbone_at_epoch, 10, "Epoch, from 0, in which the backbone begins to train", {.min = 0});
  double backbone_initial_ratio_lr =
      LEVIN_OPTION(backbone_initial_ratio_lr, 0.1, "First rate of the backbone / the first group's rate", {.min = 0});
  std::optional<double> backbone_initial_lr =
      LEVIN_OPTION(backbone_initial_lr, {}, "First rate of the backbone; unset: by the ratio", {.min = 0});
  bool should_align = LEVIN_OPTION(should_align, true, "Never let the backbone's rate pass the first group's");
  double initial_denom_lr =
      LEVIN_OPTION(initial_denom_lr, 10, "Accepted for PyTorch Lightning's sake, without effect", {.exclusive_min = 0});
  bool train_bn = LEVIN_OPTION(train_bn, true, "Train the backbone's batch norms too, once it trains");
  bool verbose = LEVIN_OPTION(verbose, false, "Print the rates at each epoch's start");
  int64_t rounding = LEVIN_OPTION(rounding, 12, "Digits after the point of printed rates", {.min = 0, .max = 17});
  /// Returns the factor of the backbone's rate at the start of an epoch; it is given the epoch's number from 1. Unset:
  /// 2.
  std::function<double(int64_t epoch)> lambda_func = {};
};

/// Trains the rest of a module first and its submodule `backbone` later, with a rate of its own that grows from epoch
/// to epoch.
///
/// The backbone is frozen, but for its batch norms, until `unfreeze_backbone_at_epoch`; then it joins the optimizer as
/// a new group. configure_optimizers returns an optimizer over the other parameters.
/// Source: lightning.pytorch.callbacks.BackboneFinetuning
class BackboneFinetuning : public BaseFinetuning {
 public:
  using Options = BackboneFinetuningOptions;

  BackboneFinetuning() = default;
  /// Throws UsageError for bad options.
  explicit BackboneFinetuning(BackboneFinetuningOptions options);

  /// Throws UsageError if the module has no submodule `backbone`.
  void freeze_before_training(LightningModule& module) override;
  void finetune_function(LightningModule& module, int64_t epoch, torch::optim::Optimizer& optimizer) override;
  void on_fit_start(Run& run) override;

  /// PyTorch Lightning's keys: previous_backbone_lr, and those of BaseFinetuning.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  void report(double lr, double backbone_lr) const;

  BackboneFinetuningOptions options_ = {};
  std::optional<double> previous_backbone_lr_ = {};
};

}  // namespace levin
