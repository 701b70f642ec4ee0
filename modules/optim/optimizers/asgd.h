#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of ASGD, with PyTorch's names and defaults.
struct ASGDOptions {
  double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  double lambd = LEVIN_OPTION(lambd, 1e-4, "Decay term");
  double alpha = LEVIN_OPTION(alpha, 0.75, "Power of the learning rate's decay");
  double t0 = LEVIN_OPTION(t0, 1e6, "Step at which averaging begins");
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// Averaged stochastic gradient descent; the averages are stored as state `ax`.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.ASGD.html
class ASGD : public OptimizerOf<ASGDOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit ASGD(std::vector<at::Tensor> parameters, ASGDOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit ASGD(ParamGroups groups, ASGDOptions options = {});

  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const ASGDOptions& options, const Member& member) const override;
  void update_group(const ASGDOptions& options, Members& members) override;
};

}  // namespace levin::optim
