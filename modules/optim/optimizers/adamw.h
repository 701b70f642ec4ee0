#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of AdamW, with PyTorch's names and defaults.
struct AdamWOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  std::vector<double> betas = LEVIN_OPTION(
      betas, {0.9, 0.999}, "Decay of the averages of gradient and squared gradient", {.min = 0, .exclusive_max = 1});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 1e-2, "Decoupled weight decay", {.min = 0});
  bool amsgrad = LEVIN_OPTION(amsgrad, false, "Divide by the largest average of squares so far");
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
  bool fused = LEVIN_OPTION(fused, false, "On the CPU: one pass over memory, with the numbers of Python's fused=True");
  bool operator==(const AdamWOptions&) const = default;
};

/// Adam with decoupled weight decay.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html
class AdamW : public OptimizerOf<AdamWOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit AdamW(std::vector<at::Tensor> parameters, AdamWOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit AdamW(ParamGroups groups, AdamWOptions options = {});

  bool can_be_captured() const override { return true; }
  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const AdamWOptions& options, const Member& member) const override;
  void update_group(const AdamWOptions& options, Members& members) override;
};

}  // namespace levin::optim
