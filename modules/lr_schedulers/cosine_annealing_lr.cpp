#include <levin/modules/lr_schedulers/cosine_annealing_lr.h>
#include <levin/trainer/core/error.h>

#include <cmath>
#include <numbers>

namespace levin {
namespace {

using std::numbers::pi;

class BoundCosineAnnealingLR : public LRScheduler {
 public:
  BoundCosineAnnealingLR(torch::optim::Optimizer& optimizer, int64_t t_max, double eta_min)
      : LRScheduler(optimizer), t_max_(t_max), eta_min_(eta_min) {
    start();
  }

  State state_dict() const override {
    State state = LRScheduler::state_dict();
    state["T_max"] = t_max_;
    state["eta_min"] = eta_min_;
    return state;
  }
  void load_state_dict(const State& state) override {
    LRScheduler::load_state_dict(state);
    t_max_ = state.at("T_max").to_int();
    eta_min_ = state.at("eta_min").to_double();
  }

 protected:
  // From the present rate, as Python does, so that other changes of the rate are kept.
  std::vector<double> next_lr(const std::vector<double>& current) override {
    std::vector<double> rates = current;
    if (last_epoch() == 0) return rates;
    const auto t_max = static_cast<double>(t_max_);
    // The epoch after a lowest point, where the other formula would divide by zero.
    const bool turns = (last_epoch() - 1 - t_max_) % (2 * t_max_) == 0;
    const double factor = (1 + std::cos(pi * static_cast<double>(last_epoch()) / t_max)) /
                          (1 + std::cos(pi * static_cast<double>(last_epoch() - 1) / t_max));
    for (size_t i = 0; i < rates.size(); ++i)
      rates[i] = turns ? rates[i] + (base_lrs_[i] - eta_min_) * (1 - std::cos(pi / t_max)) / 2
                       : factor * (rates[i] - eta_min_) + eta_min_;
    return rates;
  }

 private:
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
                                                     const LRSchedulerContext&) const {
  return std::make_unique<BoundCosineAnnealingLR>(optimizer, *options_.T_max, options_.eta_min);
}

}  // namespace levin
