#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of RAdam, with PyTorch's names and defaults.
struct RAdamOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  std::vector<double> betas = LEVIN_OPTION(
      betas, {0.9, 0.999}, "Decay of the averages of gradient and squared gradient", {.min = 0, .exclusive_max = 1});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  bool decoupled_weight_decay =
      LEVIN_OPTION(decoupled_weight_decay, false, "Shrink the parameters themselves, as AdamW does");
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// Adam with a built-in warm-up while its average of squares is based on few gradients.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.RAdam.html
class RAdam : public OptimizerOf<RAdamOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit RAdam(std::vector<at::Tensor> parameters, RAdamOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit RAdam(ParamGroups groups, RAdamOptions options = {});

  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const RAdamOptions& options, const Member& member) const override;
  void update_group(const RAdamOptions& options, Members& members) override;
};

}  // namespace levin::optim
