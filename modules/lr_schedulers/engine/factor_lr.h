#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// The base class of schedulers whose step multiplies the current rates of all groups by one factor, so that external
/// changes of the rates are preserved.
class FactorLR : public LRScheduler {
 public:
  using LRScheduler::LRScheduler;

 protected:
  /// Returns the factor for the step to `last_epoch()`.
  virtual double factor() const = 0;
  /// Returns the factor for the initial rates in a restart.
  virtual double first_factor() const { return 1; }

  std::vector<double> next_lr(const std::vector<double>& current) final;
  std::vector<double> first_lr(const std::vector<double>& current) final;
};

}  // namespace levin
