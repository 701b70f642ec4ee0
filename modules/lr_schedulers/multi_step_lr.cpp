#include <levin/modules/lr_schedulers/multi_step_lr.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/engine/factor_lr.h>

#include <cmath>
#include <map>

namespace levin {
namespace {

class BoundMultiStepLR : public FactorLR {
 public:
  BoundMultiStepLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
                   const MultiStepLROptions& options)
      : FactorLR(optimizer, context), gamma_(options.gamma) {
    for (int64_t milestone : options.milestones) ++times_at_[milestone];
    keep_in_state("gamma", &gamma_);
    start();
  }

  /// Milestones as in Python: the count of each, by epoch.
  State state_dict() const override {
    State state = FactorLR::state_dict();
    State milestones = State::dict();
    for (const auto& [epoch, times] : times_at_) milestones[epoch] = times;
    state["milestones"] = milestones;
    return state;
  }
  void load_state_dict(const State& state) override {
    FactorLR::load_state_dict(state);
    const State* milestones = state.find("milestones");
    if (!milestones) return;
    times_at_.clear();
    for (const auto& [epoch, times] : milestones->to_dict()) times_at_[std::get<int64_t>(epoch)] = times.to_int();
  }

 private:
  double factor() const override {
    const auto found = times_at_.find(last_epoch());
    return found == times_at_.end() ? 1 : std::pow(gamma_, static_cast<double>(found->second));
  }
  double first_factor() const override {
    int64_t decays = 0;
    for (const auto& [epoch, times] : times_at_) decays += epoch <= 0 ? times : 0;
    return std::pow(gamma_, static_cast<double>(decays));
  }

  std::map<int64_t, int64_t> times_at_ = {};
  double gamma_;
};

}  // namespace

MultiStepLR::MultiStepLR(MultiStepLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(std::move(options)) {
  if (options_.milestones.empty())
    throw UsageError("MultiStepLR.milestones: missing; set the epochs (or steps) at which the rate decays");
}

std::unique_ptr<LRScheduler> MultiStepLR::bind(torch::optim::Optimizer& optimizer,
                                               const LRSchedulerContext& context) const {
  return std::make_unique<BoundMultiStepLR>(optimizer, context, options_);
}

}  // namespace levin
