#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <optional>
#include <vector>

namespace levin::optim {

/// Arguments of Adafactor, with PyTorch's names and defaults.
struct AdafactorOptions {
  double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  double beta2_decay = LEVIN_OPTION(beta2_decay, -0.8, "Power of the step by which squares are averaged", {.max = 0});
  std::optional<double> eps1 =
      LEVIN_OPTION(eps1, {}, "Least average of squares; unset: the dtype's epsilon", {.min = 0});
  double eps2 = LEVIN_OPTION(eps2, 1e-3, "Least scale of a parameter", {.min = 0});
  double d = LEVIN_OPTION(d, 1.0, "Clip updates at this root mean square", {.min = 1});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "Decoupled weight decay", {.min = 0});
  bool maximize = LEVIN_OPTION(maximize, false, "Maximize the objective instead of minimizing it");
};

/// Converts between Python's `eps` and eps1, eps2.
void to_python_names(Json& values, const AdafactorOptions& options);
void from_python_names(Json& values, const AdafactorOptions& options);

/// Adafactor: stores row and column averages of a matrix's squared gradients, to save memory.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.Adafactor.html
class Adafactor : public OptimizerOf<AdafactorOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit Adafactor(std::vector<at::Tensor> parameters, AdafactorOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit Adafactor(ParamGroups groups, AdafactorOptions options = {});

 protected:
  StateNames state_names() const override;
  ParamState make_state(const AdafactorOptions& options, const Member& member) const override;
  void update_group(const AdafactorOptions& options, Members& members) override;
  bool has_rows(size_t tensor, const at::Tensor& parameter) const override;
};

}  // namespace levin::optim
