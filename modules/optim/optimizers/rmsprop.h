#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of RMSprop, with PyTorch's names and defaults.
struct RMSpropOptions {
  double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  double alpha = LEVIN_OPTION(alpha, 0.99, "Decay of the average of squared gradients", {.min = 0});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  double momentum = LEVIN_OPTION(momentum, 0, "Momentum factor", {.min = 0});
  bool centered = LEVIN_OPTION(centered, false, "Divide by an estimate of the variance, not of the square");
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// RMSprop.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.RMSprop.html
class RMSprop : public OptimizerOf<RMSpropOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit RMSprop(std::vector<at::Tensor> parameters, RMSpropOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit RMSprop(ParamGroups groups, RMSpropOptions options = {});

  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const RMSpropOptions& options, const Member& member) const override;
  void update_group(const RMSpropOptions& options, Members& members) override;
};

}  // namespace levin::optim
