#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::optim {

/// Arguments of ScheduleFreeAdamW, with the names and defaults of the package schedulefree.
struct ScheduleFreeAdamWOptions {
  double lr = LEVIN_OPTION(lr, 2.5e-3, "Learning rate", {.min = 0});
  std::vector<double> betas =
      LEVIN_OPTION(betas, {0.9, 0.999},
                   "Share of the average in the weights that are trained; decay of the average of "
                   "squared gradients",
                   {.min = 0, .exclusive_max = 1});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "Weight decay", {.min = 0});
  int64_t warmup_steps = LEVIN_OPTION(warmup_steps, 0, "Steps in which the rate rises linearly", {.min = 0});
  double r = LEVIN_OPTION(r, 0, "Power of the step in the weight of a step in the average");
  double weight_lr_power =
      LEVIN_OPTION(weight_lr_power, 2, "Power of the largest rate so far in the weight of a step in the average");
};

void check_more(const ScheduleFreeAdamWOptions& options, const std::string& path);

/// AdamW without a schedule: it steps points z, averages them (x), and takes gradients between both (y). Parameters
/// hold y while they are trained. Evaluate with x, which `use_averages` puts in their place:
///
///     optimizer.use_averages();  // the trainer does it for validation, checkpoints and the end of a fit
///     validate();
///     optimizer.use_trained();   // before the next step
///
/// Source: Defazio et al., The Road Less Scheduled, 2024, https://arxiv.org/abs/2405.15682
class ScheduleFreeAdamW : public OptimizerOf<ScheduleFreeAdamWOptions> {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit ScheduleFreeAdamW(std::vector<at::Tensor> parameters, ScheduleFreeAdamWOptions options = {});
  /// `options` are the defaults; use `param_group` for per-group options.
  explicit ScheduleFreeAdamW(ParamGroups groups, ScheduleFreeAdamWOptions options = {});
  bool is_elementwise() const override { return true; }

  /// Gives the parameters the values of the averages x, and keeps y. Nothing happens if they have them.
  void use_averages();
  /// Gives the parameters the values back that `use_averages` kept, to the bit.
  void use_trained();
  bool uses_averages() const { return !kept_.empty(); }

 protected:
  StateNames state_names() const override;
  ParamState make_state(const ScheduleFreeAdamWOptions& options, const Member& member) const override;
  /// Throws levin::UsageError while the parameters have the values of the averages.
  void update_group(const ScheduleFreeAdamWOptions& options, Members& members) override;

 private:
  struct Kept {
    at::Tensor parameter, trained;
  };
  std::vector<Kept> kept_ = {};
};

}  // namespace levin::optim
