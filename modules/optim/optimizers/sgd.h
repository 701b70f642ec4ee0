#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <string>
#include <vector>

namespace levin::optim {

/// Arguments of SGD, with PyTorch's names and defaults.
struct SGDOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  double momentum = LEVIN_OPTION(momentum, 0, "Momentum factor", {.min = 0});
  double dampening = LEVIN_OPTION(dampening, 0, "Dampening of the momentum");
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  bool nesterov = LEVIN_OPTION(nesterov, false, "Nesterov momentum; needs momentum and no dampening");
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
  bool fused = LEVIN_OPTION(fused, false, "On the CPU: one pass over memory, with the numbers of Python's fused=True");
  bool operator==(const SGDOptions&) const = default;
};

void check_more(const SGDOptions& options, const std::string& path);

/// Stochastic gradient descent with optional momentum. Supports sparse gradients.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.SGD.html
class SGD : public OptimizerOf<SGDOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit SGD(std::vector<at::Tensor> parameters, SGDOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit SGD(ParamGroups groups, SGDOptions options = {});

  bool can_be_captured() const override { return true; }
  bool is_elementwise() const override { return true; }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const SGDOptions& options, const Member& member) const override;
  void update_group(const SGDOptions& options, Members& members) override;
  void update_one_sparse(const SGDOptions& options, Member& member) override;
};

}  // namespace levin::optim
