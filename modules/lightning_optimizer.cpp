#include <levin/modules/lightning_optimizer.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/learning_rate.h>
#include <torch/optim/optimizer.h>

#include <cmath>

namespace levin {
namespace {

void check_rate(double lr) {
  if (!(lr >= 0) || std::isinf(lr))
    throw UsageError("optimizer.set_lr: expected a finite rate of at least 0, got ", lr);
}

/// Returns the options of a group whose optimizer has rates.
torch::optim::OptimizerOptions& options_of(torch::optim::Optimizer& optimizer, size_t group, const char* call) {
  const size_t groups = optim::group_lrs(optimizer).size();
  if (group >= groups)
    throw UsageError("optimizer.", call, ": there is no parameter group ", group, ", the optimizer has ", groups,
                     "; groups are made in configure_optimizers");
  return optimizer.param_groups()[group].options();
}

}  // namespace

size_t LightningOptimizer::groups() { return raw().param_groups().size(); }

double LightningOptimizer::lr(size_t group) { return options_of(raw(), group, "lr").get_lr(); }

void LightningOptimizer::set_lr(double lr) {
  check_rate(lr);
  for (size_t group = 0; group < groups(); ++group) options_of(raw(), group, "set_lr").set_lr(lr);
}

void LightningOptimizer::set_lr(double lr, size_t group) {
  check_rate(lr);
  options_of(raw(), group, "set_lr").set_lr(lr);
}

}  // namespace levin
