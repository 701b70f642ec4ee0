#include <levin/modules/lr_schedulers/cosine_annealing_warm_restarts.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <numbers>

namespace levin {
namespace {

class BoundCosineAnnealingWarmRestarts : public LRScheduler {
 public:
  BoundCosineAnnealingWarmRestarts(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
                                   const CosineAnnealingWarmRestartsOptions& options)
      : LRScheduler(optimizer, context), t_0_(*options.T_0), t_mult_(options.T_mult), eta_min_(options.eta_min) {
    keep_in_state("T_0", &t_0_);
    keep_in_state("T_mult", &t_mult_);
    keep_in_state("eta_min", &eta_min_);
    keep_in_state("T_i", &t_i_);
    keep_in_state("T_cur", &t_cur_);
    start();
  }

 private:
  std::vector<double> next_lr(const std::vector<double>& /*current*/) override {
    if (last_epoch() == 0) {
      t_i_ = t_0_;
      t_cur_ = 0;
    } else if (++t_cur_ >= t_i_) {
      t_cur_ -= t_i_;
      t_i_ *= t_mult_;
    }
    std::vector<double> rates;
    const double angle = std::numbers::pi * static_cast<double>(t_cur_) / static_cast<double>(t_i_);
    for (double base : base_lrs_) rates.push_back(eta_min_ + (base - eta_min_) * (1 + std::cos(angle)) / 2);
    return rates;
  }

  int64_t t_0_, t_mult_;
  double eta_min_;
  int64_t t_i_ = 0;    ///< epochs between the last restart and the next
  int64_t t_cur_ = 0;  ///< epochs since the last restart
};

}  // namespace

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(CosineAnnealingWarmRestartsOptions options,
                                                         LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(options) {
  if (!options_.T_0)
    throw UsageError("CosineAnnealingWarmRestarts.T_0: missing; set the epochs (or steps) until the first restart");
  schema_of<CosineAnnealingWarmRestartsOptions>().check(&options_, "CosineAnnealingWarmRestarts");
}

std::unique_ptr<LRScheduler> CosineAnnealingWarmRestarts::bind(torch::optim::Optimizer& optimizer,
                                                               const LRSchedulerContext& context) const {
  return std::make_unique<BoundCosineAnnealingWarmRestarts>(optimizer, context, options_);
}

}  // namespace levin
