#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of Adadelta, with PyTorch's names and defaults.
struct AdadeltaOptions {
  double lr = LEVIN_OPTION(lr, 1.0, "Learning rate", {.min = 0});
  double rho = LEVIN_OPTION(rho, 0.9, "Decay of the averages", {.min = 0, .max = 1});
  double eps = LEVIN_OPTION(eps, 1e-6, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// Adadelta.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.Adadelta.html
class Adadelta : public OptimizerOf<AdadeltaOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit Adadelta(std::vector<at::Tensor> parameters, AdadeltaOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit Adadelta(ParamGroups groups, AdadeltaOptions options = {});

  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const AdadeltaOptions& options, const Member& member) const override;
  void update_group(const AdadeltaOptions& options, Members& members) override;
};

}  // namespace levin::optim
