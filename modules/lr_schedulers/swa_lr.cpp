#include <levin/modules/lr_schedulers/swa_lr.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace levin {
namespace {

class BoundSWALR : public LRScheduler {
 public:
  BoundSWALR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context, SWALROptions options)
      : LRScheduler(optimizer, context), options_(std::move(options)) {
    options_.swa_lr.for_groups(base_lrs_.size(), "SWALR.swa_lr");
    keep_in_state("anneal_epochs", &options_.anneal_epochs);
    keep_in_state("_anneal_strategy", &options_.anneal_strategy);
    start();
  }

  /// Python may begin to count the epochs elsewhere; the steps count.
  void load_state_dict(const State& state) override {
    LRScheduler::load_state_dict(state);
    if (const State* count = state.find("_step_count")) last_epoch_ = count->to_int() - 1;
  }

 protected:
  /// Each rate is first put back to where the way began, and then moved along it: changes from outside stay.
  std::vector<double> next_lr(const std::vector<double>& current) override {
    const int64_t step = options_.anneal_epochs == 0 ? std::max<int64_t>(1, last_epoch()) : last_epoch();
    const double before = progress(step - 1), now = progress(step);
    std::vector<double> rates = current;
    for (size_t i = 0; i < rates.size(); ++i) {
      const double goal = goal_of(i);
      const double first = before == 1 ? goal : (rates[i] - before * goal) / (1 - before);
      rates[i] = goal * now + first * (1 - now);
    }
    return rates;
  }

 private:
  double goal_of(size_t group) const {
    const std::vector<double>& goals = options_.swa_lr.values();
    if (goals.size() == 1) return goals[0];
    if (group < goals.size()) return goals[group];
    throw UsageError("SWALR.swa_lr: the optimizer has got a group that the list has no rate for; give one rate");
  }

  double progress(int64_t step) const {
    const double part = static_cast<double>(step) / static_cast<double>(std::max<int64_t>(1, options_.anneal_epochs));
    const double t = std::clamp(part, 0.0, 1.0);
    return options_.anneal_strategy == AnnealStrategy::Cos ? (1 - std::cos(std::numbers::pi * t)) / 2 : t;
  }

  SWALROptions options_;
};

}  // namespace

SWALR::SWALR(SWALROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(std::move(options)) {
  schema_of<SWALROptions>().check(&options_, "SWALR");
  if (options_.swa_lr.empty()) throw UsageError("SWALR.swa_lr: missing; set the learning rate of the averaging");
  for (double rate : options_.swa_lr.values())
    if (!(rate >= 0)) throw UsageError("SWALR.swa_lr: expected at least 0, got ", rate);
}

std::unique_ptr<LRScheduler> SWALR::bind(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context) const {
  return std::make_unique<BoundSWALR>(optimizer, context, options_);
}

}  // namespace levin
