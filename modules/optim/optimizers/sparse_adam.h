#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <vector>

namespace levin::optim {

/// Arguments of SparseAdam, with PyTorch's names and defaults.
struct SparseAdamOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  std::vector<double> betas = LEVIN_OPTION(
      betas, {0.9, 0.999}, "Decay of the averages of gradient and squared gradient", {.min = 0, .exclusive_max = 1});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.exclusive_min = 0});
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// Adam for sparse gradients, as of torch::nn::Embedding with `sparse`: only the rows that a gradient has are stepped,
/// and only their averages decay. Dense gradients are refused; on ranks (ddp) all gradients are dense.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
class SparseAdam : public OptimizerOf<SparseAdamOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters, and a duplicate or complex parameter.
  explicit SparseAdam(std::vector<at::Tensor> parameters, SparseAdamOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit SparseAdam(ParamGroups groups, SparseAdamOptions options = {});

 protected:
  StateNames state_names() const override;
  ParamState make_state(const SparseAdamOptions& options, const Member& member) const override;
  /// Throws levin::UsageError: the gradients are dense.
  void update_group(const SparseAdamOptions& options, Members& members) override;
  void update_one_sparse(const SparseAdamOptions& options, Member& member) override;
};

}  // namespace levin::optim
