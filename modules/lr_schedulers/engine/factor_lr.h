#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Base of the schedulers whose step multiplies the present rates of all groups by one factor, so that changes of the
/// rates from elsewhere are kept.
class FactorLR : public LRScheduler {
 public:
  using LRScheduler::LRScheduler;

 protected:
  /// What the step to `last_epoch()` multiplies the rates by.
  virtual double factor() const = 0;
  /// What the initial rates are multiplied by in a restart.
  virtual double first_factor() const { return 1; }

  std::vector<double> next_lr(const std::vector<double>& current) final;
  std::vector<double> first_lr(const std::vector<double>& current) final;
};

}  // namespace levin
