#include <levin/modules/lr_schedulers/one_cycle_lr.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/engine/automatic_total_steps.h>
#include <levin/modules/lr_schedulers/engine/cycled_momentum.h>

#include <cmath>
#include <numbers>

namespace levin {
namespace {

/// The rates and momenta between which one parameter group moves.
struct Bounds {
  double initial_lr = 0, max_lr = 0, min_lr = 0;
  double base_momentum = 0, max_momentum = 0;
};

/// A phase of the cycle: from the end of the previous phase to `end_step`, between two of the bounds.
struct Phase {
  double end_step;
  double Bounds::* start_lr;
  double Bounds::* end_lr;
  double Bounds::* start_momentum;
  double Bounds::* end_momentum;
};

std::vector<Phase> phases_of(int64_t total_steps, double pct_start, bool three_phase) {
  const double rise = pct_start * static_cast<double>(total_steps);
  const auto last = static_cast<double>(total_steps - 1);
  const Phase first{rise - 1, &Bounds::initial_lr, &Bounds::max_lr, &Bounds::max_momentum, &Bounds::base_momentum};
  if (!three_phase)
    return {first, {last, &Bounds::max_lr, &Bounds::min_lr, &Bounds::base_momentum, &Bounds::max_momentum}};
  return {
      first,
      {2 * pct_start * static_cast<double>(total_steps) - 2, &Bounds::max_lr, &Bounds::initial_lr,
       &Bounds::base_momentum, &Bounds::max_momentum},
      {last, &Bounds::initial_lr, &Bounds::min_lr, &Bounds::max_momentum, &Bounds::max_momentum},
  };
}

bool has_empty_phase(const std::vector<Phase>& phases) {
  double start = 0;
  for (const Phase& phase : phases)
    if (std::exchange(start, phase.end_step) == phase.end_step) return true;
  return false;
}

class BoundOneCycleLR : public LRScheduler {
 public:
  BoundOneCycleLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context, OneCycleLROptions options,
                  int64_t total_steps)
      : LRScheduler(optimizer, context), options_(std::move(options)) {
    set_total_steps(total_steps);
    const size_t groups = base_lrs_.size();
    const std::vector<double> max_lr = options_.max_lr.for_groups(groups, "OneCycleLR.max_lr");
    const std::vector<double> base_momentum = options_.base_momentum.for_groups(groups, "OneCycleLR.base_momentum");
    const std::vector<double> max_momentum = options_.max_momentum.for_groups(groups, "OneCycleLR.max_momentum");
    for (size_t i = 0; i < groups; ++i) {
      base_lrs_[i] = max_lr[i] / options_.div_factor;
      bounds_.push_back({.initial_lr = base_lrs_[i],
                         .max_lr = max_lr[i],
                         .min_lr = base_lrs_[i] / options_.final_div_factor,
                         .base_momentum = base_momentum[i],
                         .max_momentum = max_momentum[i]});
    }
    *initial_lr_ = base_lrs_;
    start();
  }

  State state_dict() const override {
    State state = LRScheduler::state_dict();
    state["total_steps"] = total_steps_;
    return state;
  }
  void load_state_dict(const State& state) override {
    LRScheduler::load_state_dict(state);
    set_total_steps(continued_total_steps("OneCycleLR", state.at("total_steps").to_int(), total_steps_, last_epoch(),
                                          options_.when_longer));
  }

 protected:
  std::vector<double> next_lr(const std::vector<double>& current) override {
    if (last_epoch() > total_steps_ && options_.when_longer != WhenLonger::Hold)
      throw UsageError("OneCycleLR: step ", last_epoch(), " is beyond total_steps = ", total_steps_,
                       "; train for fewer steps, set when_longer to \"hold\" to keep the last rates, or begin a run "
                       "whose total_steps are all of its steps (\"auto\" with interval \"step\" does that)");
    std::vector<double> rates = current;
    for (size_t i = 0; i < base_lrs_.size(); ++i) {
      const Bounds& bounds = bounds_[i];
      const auto [phase, progress] = position();
      rates[i] = anneal(bounds.*phase.start_lr, bounds.*phase.end_lr, progress);
      if (options_.cycle_momentum)
        set_cycled_momentum(optimizer_, i, anneal(bounds.*phase.start_momentum, bounds.*phase.end_momentum, progress),
                            "OneCycleLR");
    }
    return rates;
  }

 private:
  void set_total_steps(int64_t total_steps) {
    total_steps_ = total_steps;
    phases_ = phases_of(total_steps, options_.pct_start, options_.three_phase);
    if (has_empty_phase(phases_))
      throw UsageError("OneCycleLR: with total_steps = ", total_steps, " and pct_start = ", options_.pct_start,
                       " one phase of the cycle has no length; change one of them");
  }

  /// Returns the current phase and the completed fraction of it.
  std::pair<Phase, double> position() const {
    // After the cycle, the rates of its last step hold.
    const auto step = static_cast<double>(last_epoch() > total_steps_ ? total_steps_ - 1 : last_epoch());
    double start = 0;
    size_t i = 0;
    for (; i + 1 < phases_.size() && step > phases_[i].end_step; ++i) start = phases_[i].end_step;
    return {phases_[i], (step - start) / (phases_[i].end_step - start)};
  }

  double anneal(double from, double to, double progress) const {
    if (options_.anneal_strategy == AnnealStrategy::Linear) return (to - from) * progress + from;
    return to + (from - to) / 2.0 * (std::cos(std::numbers::pi * progress) + 1);
  }

  OneCycleLROptions options_;
  int64_t total_steps_ = 0;
  std::vector<Phase> phases_ = {};
  std::vector<Bounds> bounds_ = {};
};

}  // namespace

OneCycleLR::OneCycleLR(OneCycleLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(std::move(options)) {
  schema_of<OneCycleLROptions>().check(&options_, "OneCycleLR");
  if (options_.max_lr.empty()) throw UsageError("OneCycleLR.max_lr: missing; set the highest learning rate");
  for (double rate : options_.max_lr.values())
    if (!(rate >= 0)) throw UsageError("OneCycleLR.max_lr: expected at least 0, got ", rate);
}

std::unique_ptr<LRScheduler> OneCycleLR::bind(torch::optim::Optimizer& optimizer,
                                              const LRSchedulerContext& context) const {
  int64_t total_steps = options_.total_steps.value_or(0);
  if (options_.total_steps.is_auto() && options_.epochs && options_.steps_per_epoch) {
    total_steps = *options_.epochs * *options_.steps_per_epoch;
  } else if (options_.total_steps.is_auto()) {
    total_steps = automatic_total_steps("OneCycleLR", config, context);
    // A run that limits cut short is not refused for its length: it is the beginning of a longer cycle.
    // A phase is empty at three lengths at most, except that with pct_start = 1 the second one always is.
    constexpr int kLengths = 3;
    for (int i = 0; i < kLengths; ++i)
      total_steps += has_empty_phase(phases_of(total_steps, options_.pct_start, options_.three_phase));
  }
  return std::make_unique<BoundOneCycleLR>(optimizer, context, options_, total_steps);
}

}  // namespace levin
