#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of Adamax, with PyTorch's names and defaults.
struct AdamaxOptions {
  double lr = LEVIN_OPTION(lr, 2e-3, "Learning rate", {.min = 0});
  std::vector<double> betas = LEVIN_OPTION(
      betas, {0.9, 0.999}, "Decay of the averages of gradient and largest gradient", {.min = 0, .exclusive_max = 1});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// Adam with the infinity norm of the gradients in place of their squares.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.Adamax.html
class Adamax : public OptimizerOf<AdamaxOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit Adamax(std::vector<at::Tensor> parameters, AdamaxOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit Adamax(ParamGroups groups, AdamaxOptions options = {});

  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const AdamaxOptions& options, const Member& member) const override;
  void update_group(const AdamaxOptions& options, Members& members) override;
};

}  // namespace levin::optim
