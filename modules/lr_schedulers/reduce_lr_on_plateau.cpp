#include <levin/modules/lr_schedulers/reduce_lr_on_plateau.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin {
namespace {

class BoundReduceLROnPlateau : public LRScheduler {
 public:
  BoundReduceLROnPlateau(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
                         const ReduceLROnPlateauOptions& options)
      : LRScheduler(optimizer, context),
        mode_(options.mode),
        factor_(options.factor),
        patience_(options.patience),
        threshold_(options.threshold),
        threshold_mode_(options.threshold_mode),
        cooldown_(options.cooldown),
        min_lrs_(options.min_lr.for_groups(base_lrs_.size(), "ReduceLROnPlateau.min_lr")),
        eps_(options.eps) {
    best_ = worst_value(mode_);
    keep_in_state("mode", &mode_);
    keep_in_state("factor", &factor_);
    keep_in_state("patience", &patience_);
    keep_in_state("threshold", &threshold_);
    keep_in_state("threshold_mode", &threshold_mode_);
    keep_in_state("cooldown", &cooldown_);
    keep_in_state("min_lrs", &min_lrs_);
    keep_in_state("eps", &eps_);
    keep_in_state("best", &best_);
    keep_in_state("num_bad_epochs", &num_bad_epochs_);
    keep_in_state("cooldown_counter", &cooldown_counter_);
  }

  bool needs_metric() const override { return true; }
  void step() override {
    throw UsageError("ReduceLROnPlateau: step needs the metric; call step(metric), or leave stepping to the trainer");
  }
  void step(double metric) override {
    ++last_epoch_;
    if (improves(metric)) {
      best_ = metric;
      num_bad_epochs_ = 0;
    } else {
      ++num_bad_epochs_;
    }
    if (cooldown_counter_ > 0) {
      --cooldown_counter_;
      num_bad_epochs_ = 0;
    }
    if (num_bad_epochs_ <= patience_) return;
    set_lr(next_lr(last_lr()));
    cooldown_counter_ = cooldown_;
    num_bad_epochs_ = 0;
  }

 private:
  /// Returns whether the metric improved; false for NaN.
  bool improves(double metric) const {
    const double change = mode_ == MetricMode::Min ? -threshold_ : threshold_;
    return is_better(metric, threshold_mode_ == ThresholdMode::Rel ? best_ * (1 + change) : best_ + change, mode_);
  }

  std::vector<double> next_lr(const std::vector<double>& current) override {
    std::vector<double> rates = current;
    for (size_t i = 0; i < rates.size(); ++i) {
      // A group that was added later is reduced with the others, down to the limit of the last group.
      const double reduced = std::max(current[i] * factor_, i < min_lrs_.size() ? min_lrs_[i] : min_lrs_.back());
      if (current[i] - reduced > eps_) rates[i] = reduced;
    }
    return rates;
  }

  Choice<MetricMode> mode_;
  double factor_;
  int64_t patience_;
  double threshold_;
  Choice<ThresholdMode> threshold_mode_;
  int64_t cooldown_;
  std::vector<double> min_lrs_;
  double eps_;
  double best_ = 0;
  int64_t num_bad_epochs_ = 0, cooldown_counter_ = 0;
};

}  // namespace

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(std::move(options)) {
  schema_of<ReduceLROnPlateauOptions>().check(&options_, "ReduceLROnPlateau");
}

std::unique_ptr<LRScheduler> ReduceLROnPlateau::bind(torch::optim::Optimizer& optimizer,
                                                     const LRSchedulerContext& context) const {
  return std::make_unique<BoundReduceLROnPlateau>(optimizer, context, options_);
}

}  // namespace levin
