#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of LARS, with the paper's names and defaults.
struct LARSOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  double momentum = LEVIN_OPTION(momentum, 0.9, "Momentum factor", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  double trust_coefficient = LEVIN_OPTION(trust_coefficient, 1e-3, "Step of a tensor by its own norm", {.min = 0});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.min = 0});
  bool nesterov = LEVIN_OPTION(nesterov, false, "Nesterov momentum; needs momentum");
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// SGD with a per-tensor learning rate proportional to ||w|| / (||g|| + weight_decay ||w||), for large batches.
/// Source: You et al., Large Batch Training of Convolutional Networks, 2017, https://arxiv.org/abs/1708.03888
class LARS : public OptimizerOf<LARSOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit LARS(std::vector<at::Tensor> parameters, LARSOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit LARS(ParamGroups groups, LARSOptions options = {});

 protected:
  StateNames state_names() const override;
  ParamState make_state(const LARSOptions& options, const Member& member) const override;
  void update_group(const LARSOptions& options, Members& members) override;
};

}  // namespace levin::optim
