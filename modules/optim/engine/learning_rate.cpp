#include <levin/modules/optim/engine/learning_rate.h>
#include <levin/core/system/error.h>
#include <torch/optim/optimizer.h>

#include <algorithm>

namespace levin::optim {

std::vector<double> group_lrs(torch::optim::Optimizer& optimizer) {
  std::vector<double> rates;
  try {
    for (const auto& group : optimizer.param_groups()) rates.push_back(group.options().get_lr());
  } catch (const c10::Error&) {
    throw UsageError("configure_optimizers: the options of this optimizer have no learning rate (get_lr, set_lr)");
  }
  return rates;
}

std::vector<double> lr_shares(torch::optim::Optimizer& optimizer) {
  std::vector<double> shares = group_lrs(optimizer);
  const double largest = shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
  for (double& share : shares) share = largest > 0 ? share / largest : 1;
  return shares;
}

void set_lr(torch::optim::Optimizer& optimizer, const std::vector<double>& shares, double lr) {
  auto& groups = optimizer.param_groups();
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(lr * shares.at(i));
}

void scale_lr(torch::optim::Optimizer& optimizer, double factor) {
  const std::vector<double> rates = group_lrs(optimizer);
  auto& groups = optimizer.param_groups();
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(rates[i] * factor);
}

}  // namespace levin::optim
