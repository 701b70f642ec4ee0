#include <levin/modules/lr_schedulers/warmup_cosine.h>
#include <levin/core/system/console.h>
#include <levin/core/system/counted.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/engine/automatic_total_steps.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace levin {
namespace {

class BoundWarmupCosine : public LRScheduler {
 public:
  BoundWarmupCosine(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
                    const WarmupCosineOptions& options, int64_t total_steps)
      : LRScheduler(optimizer, context),
        warmup_steps_(*options.warmup_steps),
        total_steps_(total_steps),
        start_factor_(options.warmup_start_factor),
        eta_min_(options.eta_min),
        when_longer_(options.when_longer) {
    keep_in_state("warmup_steps", &warmup_steps_);
    keep_in_state("total_steps", &total_steps_);
    keep_in_state("warmup_start_factor", &start_factor_);
    keep_in_state("eta_min", &eta_min_);
    start();
  }

  bool can_advance() const override { return true; }
  void load_state_dict(const State& state) override {
    const int64_t planned = total_steps_;
    LRScheduler::load_state_dict(state);
    total_steps_ = continued_total_steps("WarmupCosine", total_steps_, planned, last_epoch(), when_longer_);
  }

 private:
  std::vector<double> next_lr(const std::vector<double>& /*current*/) override {
    std::vector<double> rates = base_lrs_;
    for (double& rate : rates) rate = rate_of(rate);
    return rates;
  }

  double rate_of(double base) const {
    if (last_epoch() < warmup_steps_) {
      const double progress = static_cast<double>(last_epoch()) / static_cast<double>(warmup_steps_);
      return base * (start_factor_ + (1 - start_factor_) * progress);
    }
    const auto step = static_cast<double>(std::min(last_epoch(), total_steps_) - warmup_steps_);
    const double progress = step / static_cast<double>(total_steps_ - warmup_steps_);
    return eta_min_ + (base - eta_min_) * (1 + std::cos(std::numbers::pi * progress)) / 2;
  }

  int64_t warmup_steps_, total_steps_;
  double start_factor_, eta_min_;
  WhenLonger when_longer_;
};

}  // namespace

WarmupCosine::WarmupCosine(WarmupCosineOptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(options) {
  if (!options_.warmup_steps)
    throw UsageError("WarmupCosine.warmup_steps: missing; set the number of steps in which the rate rises");
  schema_of<WarmupCosineOptions>().check(&options_, "WarmupCosine");
}

std::unique_ptr<LRScheduler> WarmupCosine::bind(torch::optim::Optimizer& optimizer,
                                                const LRSchedulerContext& context) const {
  const int64_t total_steps = options_.total_steps.is_auto() ? automatic_total_steps("WarmupCosine", config, context)
                                                             : options_.total_steps.value_or(0);
  const int64_t warmup_steps = *options_.warmup_steps;
  if (total_steps > warmup_steps) return std::make_unique<BoundWarmupCosine>(optimizer, context, options_, total_steps);
  if (!options_.total_steps.is_auto())
    throw UsageError("WarmupCosine.warmup_steps: expected less than total_steps = ", total_steps, ", got ",
                     warmup_steps);
  // A run that limits cut short is the beginning of the schedule.
  console::warn(c10::str("WarmupCosine.warmup_steps: the run ends after ", counted(total_steps, "step"),
                         ", within the ", warmup_steps, " steps of the warm-up: the rate only rises"));
  return std::make_unique<BoundWarmupCosine>(optimizer, context, options_, warmup_steps + 1);
}

}  // namespace levin
