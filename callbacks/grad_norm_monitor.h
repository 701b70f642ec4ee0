#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/option.h>

namespace levin {

struct GradNormMonitorOptions {
  double norm_type =
      LEVIN_OPTION(norm_type, 2, "Which norm; infinity is the largest absolute value", {.exclusive_min = 0});
  bool per_layer = LEVIN_OPTION(per_layer, false, "Log the norm of each parameter too");
  int64_t every_n_steps = LEVIN_OPTION(every_n_steps, 1, "Log every n optimizer steps", {.min = 1});
};

/// Logs the norm of all gradients of an optimizer before each step, unscaled and before they are clipped:
/// `grad_2.0_norm_total`, and with `per_layer` `grad_2.0_norm/net.0.weight` for each parameter. Several optimizers log
/// `grad_2.0_norm_total/1` and so on, from the second on.
///
/// Norms stay on the device until a log point. Under `zero1` and `fsdp` they are reduced over the ranks.
/// Source: lightning.pytorch.utilities.grad_norm
class GradNormMonitor : public Callback {
 public:
  using Options = GradNormMonitorOptions;

  GradNormMonitor() = default;
  /// Throws UsageError for bad options.
  explicit GradNormMonitor(GradNormMonitorOptions options);
  void on_before_optimizer_step(Run& run, torch::optim::Optimizer& optimizer) override;

 private:
  GradNormMonitorOptions options_ = {};
};

}  // namespace levin
