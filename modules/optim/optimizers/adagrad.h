#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of Adagrad, with PyTorch's names and defaults.
struct AdagradOptions {
  double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  double lr_decay = LEVIN_OPTION(lr_decay, 0, "Decay of the learning rate with each step", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  double initial_accumulator_value =
      LEVIN_OPTION(initial_accumulator_value, 0, "Sum of squared gradients to begin with", {.min = 0});
  double eps = LEVIN_OPTION(eps, 1e-10, "Added to the denominator", {.min = 0});
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
  bool fused = LEVIN_OPTION(fused, false, "On the CPU: one pass over memory, with the numbers of Python's fused=True");
};

/// Adagrad. Supports sparse gradients.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.Adagrad.html
class Adagrad : public OptimizerOf<AdagradOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit Adagrad(std::vector<at::Tensor> parameters, AdagradOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit Adagrad(ParamGroups groups, AdagradOptions options = {});

  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const AdagradOptions& options, const Member& member) const override;
  void update_group(const AdagradOptions& options, Members& members) override;
  void update_one_sparse(const AdagradOptions& options, Member& member) override;
};

}  // namespace levin::optim
