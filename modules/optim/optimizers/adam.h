#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of Adam, with PyTorch's names and defaults.
struct AdamOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  std::vector<double> betas = LEVIN_OPTION(
      betas, {0.9, 0.999}, "Decay of the averages of gradient and squared gradient", {.min = 0, .exclusive_max = 1});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  bool amsgrad = LEVIN_OPTION(amsgrad, false, "Divide by the largest average of squares so far");
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
  bool fused = LEVIN_OPTION(fused, false, "On the CPU: one pass over memory, with the numbers of Python's fused=True");
  bool decoupled_weight_decay =
      LEVIN_OPTION(decoupled_weight_decay, false, "Shrink the parameters themselves, as AdamW does");
  bool operator==(const AdamOptions&) const = default;
};

/// Adam.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.Adam.html
class Adam : public OptimizerOf<AdamOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit Adam(std::vector<at::Tensor> parameters, AdamOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit Adam(ParamGroups groups, AdamOptions options = {});

  bool can_be_captured() const override { return true; }
  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const AdamOptions& options, const Member& member) const override;
  void update_group(const AdamOptions& options, Members& members) override;
};

}  // namespace levin::optim
