#include <levin/modules/lr_schedulers/cosine_annealing_lr.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <numbers>

namespace levin {
namespace {

using std::numbers::pi;

class BoundCosineAnnealingLR : public LRScheduler {
 public:
  BoundCosineAnnealingLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context, int64_t t_max,
                         double eta_min)
      : LRScheduler(optimizer, context), t_max_(t_max), eta_min_(eta_min) {
    keep_in_state("T_max", &t_max_);
    keep_in_state("eta_min", &eta_min_);
    start();
  }

 private:
  // Computed from the current rate, as in Python, so that external changes of the rate are preserved.
  std::vector<double> next_lr(const std::vector<double>& current) override {
    std::vector<double> rates = current;
    if (in_initial_step()) return rates;
    const auto t_max = static_cast<double>(t_max_);
    // The epoch after a minimum, where the other formula would divide by zero.
    const bool turns = (last_epoch() - 1 - t_max_) % (2 * t_max_) == 0;
    const double factor = (1 + std::cos(pi * static_cast<double>(last_epoch()) / t_max)) /
                          (1 + std::cos(pi * static_cast<double>(last_epoch() - 1) / t_max));
    // A group that was added later has no initial rate to return to.
    const size_t groups = turns ? base_lrs_.size() : rates.size();
    for (size_t i = 0; i < groups; ++i)
      rates[i] = turns ? rates[i] + (base_lrs_[i] - eta_min_) * (1 - std::cos(pi / t_max)) / 2
                       : factor * (rates[i] - eta_min_) + eta_min_;
    return rates;
  }
  std::vector<double> first_lr(const std::vector<double>& /*current*/) override {
    std::vector<double> rates = base_lrs_;
    // Computed instead of copied from the base rates, to round as Python does.
    for (double& rate : rates) rate = eta_min_ + (rate - eta_min_);
    return rates;
  }

  int64_t t_max_;
  double eta_min_;
};

}  // namespace

CosineAnnealingLR::CosineAnnealingLR(CosineAnnealingLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(options) {
  if (!options_.T_max)
    throw UsageError("CosineAnnealingLR.T_max: missing; set the epochs (or steps) until the lowest rate");
  schema_of<CosineAnnealingLROptions>().check(&options_, "CosineAnnealingLR");
}

std::unique_ptr<LRScheduler> CosineAnnealingLR::bind(torch::optim::Optimizer& optimizer,
                                                     const LRSchedulerContext& context) const {
  return std::make_unique<BoundCosineAnnealingLR>(optimizer, context, *options_.T_max, options_.eta_min);
}

}  // namespace levin
