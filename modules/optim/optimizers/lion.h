#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of Lion, with the paper's names and defaults.
struct LionOptions {
  double lr = LEVIN_OPTION(lr, 1e-4, "Learning rate", {.min = 0});
  std::vector<double> betas =
      LEVIN_OPTION(betas, {0.9, 0.99}, "Decay of the average in the step, and of the average in the next step",
                   {.min = 0, .exclusive_max = 1});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "Decoupled weight decay", {.min = 0});
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// Lion: steps by the sign of an average of gradients; one state per parameter.
/// Source: Chen et al., Symbolic Discovery of Optimization Algorithms, 2023, https://arxiv.org/abs/2302.06675
class Lion : public OptimizerOf<LionOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit Lion(std::vector<at::Tensor> parameters, LionOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit Lion(ParamGroups groups, LionOptions options = {});

  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const LionOptions& options, const Member& member) const override;
  void update_group(const LionOptions& options, Members& members) override;
};

}  // namespace levin::optim
