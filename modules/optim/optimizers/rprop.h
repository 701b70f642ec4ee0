#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <string>
#include <vector>

namespace levin::optim {

/// Arguments of Rprop, with PyTorch's names and defaults.
struct RpropOptions {
  double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  std::vector<double> etas = LEVIN_OPTION(
      etas, {0.5, 1.2}, "Factors of the step where the gradient turns and where it does not", {.exclusive_min = 0});
  std::vector<double> step_sizes = LEVIN_OPTION(step_sizes, {1e-6, 50}, "Smallest and largest step", {.min = 0});
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

void check_more(const RpropOptions& options, const std::string& path);

/// Resilient backpropagation, for full-batch training.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.Rprop.html
class Rprop : public OptimizerOf<RpropOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit Rprop(std::vector<at::Tensor> parameters, RpropOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit Rprop(ParamGroups groups, RpropOptions options = {});

  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const RpropOptions& options, const Member& member) const override;
  void update_group(const RpropOptions& options, Members& members) override;
};

}  // namespace levin::optim
