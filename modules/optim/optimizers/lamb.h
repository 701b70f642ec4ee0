#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of LAMB, with the paper's names and defaults.
struct LAMBOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  std::vector<double> betas = LEVIN_OPTION(
      betas, {0.9, 0.999}, "Decay of the averages of gradient and squared gradient", {.min = 0, .exclusive_max = 1});
  double eps = LEVIN_OPTION(eps, 1e-6, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "Decoupled weight decay", {.min = 0});
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// Adam with a per-tensor learning rate proportional to ||w|| / ||step||, for large batches.
/// Source: You et al., Large Batch Optimization for Deep Learning, 2019, https://arxiv.org/abs/1904.00962
class LAMB : public OptimizerOf<LAMBOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit LAMB(std::vector<at::Tensor> parameters, LAMBOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit LAMB(ParamGroups groups, LAMBOptions options = {});

 protected:
  StateNames state_names() const override;
  ParamState make_state(const LAMBOptions& options, const Member& member) const override;
  void update_group(const LAMBOptions& options, Members& members) override;
};

}  // namespace levin::optim
