#include <levin/modules/lr_schedulers/engine/factor_lr.h>

namespace levin {
namespace {

std::vector<double> scaled(std::vector<double> rates, double factor) {
  for (double& rate : rates) rate *= factor;
  return rates;
}

}  // namespace

std::vector<double> FactorLR::next_lr(const std::vector<double>& current) { return scaled(current, factor()); }

std::vector<double> FactorLR::first_lr(const std::vector<double>& /*current*/) {
  return scaled(base_lrs_, first_factor());
}

}  // namespace levin
