#pragma once
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin::optim {

/// Returns the rate of each parameter group of an optimizer. Throws levin::UsageError for an optimizer without a
/// learning rate.
std::vector<double> group_lrs(torch::optim::Optimizer& optimizer);

/// Returns the rate of each parameter group as a fraction of the largest; 1 for all if every rate is 0. Throws as
/// group_lrs.
std::vector<double> lr_shares(torch::optim::Optimizer& optimizer);

/// Sets the rate of each parameter group to `lr` times its share.
void set_lr(torch::optim::Optimizer& optimizer, const std::vector<double>& shares, double lr);

/// Multiplies the rate of each parameter group. Throws as group_lrs.
void scale_lr(torch::optim::Optimizer& optimizer, double factor);

}  // namespace levin::optim
