#include <levin/trainer/loops/run_schedulers.h>
#include <levin/core/run/absent_metric.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace levin {

void RunSchedulers::step(Interval interval, bool following_metric) {
  const RunParts& parts = run_.parts;
  if (parts.trial) return;
  if (LRScheduler* const other = replacement()) {
    if (interval == Interval::Epoch && !following_metric) step_one(*other, {});
    return;
  }
  if (!run_.module().automatic_optimization) return;  // the module steps its schedulers
  TrainerState& counters = run_.state.counters;
  counters.metric_steps.resize(parts.schedulers.size());
  // Schedulers that follow a metric step after the validation, when global_step has already advanced.
  const int64_t step = counters.global_step - counters.skipped_steps + (following_metric ? 0 : 1);
  const int64_t count = interval == Interval::Step ? step : counters.epoch + 1;
  for (size_t i = 0; i < parts.schedulers.size(); ++i) {
    LRScheduler& scheduler = *parts.schedulers[i];
    const LRSchedulerConfig& config = parts.scheduler_configs[i];
    if (scheduler.needs_metric() != following_metric || config.interval != interval || count % config.frequency != 0)
      continue;
    std::optional<double> metric;
    if (following_metric) {
      if (awaits_validation(config, counters.metric_steps[i])) continue;
      metric = monitored(config);
      if (!metric) continue;
      counters.metric_steps[i] = counters.validations;
    }
    step_one(scheduler, metric);
  }
}

void RunSchedulers::count_tokens(const TrainingStep::Outcome& outcome) {
  const RunParts& parts = run_.parts;
  if (parts.trial || !run_.module().automatic_optimization) return;
  const auto counts_tokens = [](const LRSchedulerConfig& config) { return config.interval == Interval::Token; };
  if (std::ranges::none_of(parts.scheduler_configs, counts_tokens)) return;
  if (outcome.counts && !outcome.weight)
    throw UsageError(
        "lr_scheduler.interval: token counts the weights that training_step returns ({loss, tokens}), and it returned "
        "none; CausalLM and LanguageModel do. A step that is captured in a graph returns none either");
  if (!outcome.stepped || outcome.skipped) return;
  TrainerState& counters = run_.state.counters;
  counters.tokens_seen += std::llround(outcome.window_weight);
  if (replacement() != nullptr) return;
  for (size_t i = 0; i < parts.schedulers.size(); ++i) {
    if (!counts_tokens(parts.scheduler_configs[i])) continue;
    const ProfileSpan span(parts.profiler, Action::LRSchedulerStep);
    parts.schedulers[i]->advance_to(counters.tokens_seen / parts.scheduler_configs[i].frequency);
  }
}

void RunSchedulers::step_one(LRScheduler& scheduler, std::optional<double> metric) {
  const ProfileSpan span(run_.parts.profiler, Action::LRSchedulerStep);
  run_.module().lr_scheduler_step(scheduler, metric);
}

LRScheduler* RunSchedulers::replacement() const {
  for (FitControl* control : controls_)
    if (LRScheduler* scheduler = control->lr_scheduler()) return scheduler;
  return nullptr;
}

bool RunSchedulers::awaits_validation(const LRSchedulerConfig& config, int64_t stepped_at) const {
  if (run_.state.counters.validations > stepped_at) return false;
  if (run_.state.sink.is_of_evaluation(config.monitor)) return true;
  const data::Loaders* loaders = run_.state.loaders.evaluation;
  const bool validates = loaders != nullptr && !loaders->empty();
  return run_.state.counters.validations == 0 && validates && !run_.view.metric(config.monitor);
}

std::optional<double> RunSchedulers::monitored(const LRSchedulerConfig& config) {
  const std::optional<double> metric = run_.view.metric(config.monitor);
  if (metric) return metric;
  const std::string message = "lr_scheduler.monitor: " + absent_metric(config.monitor, run_.view.metrics());
  if (config.strict) throw UsageError(message, "; with lr_scheduler.strict = false the step is skipped");
  run_.warn_once("lr_scheduler.monitor " + config.monitor, message + "; the scheduler does not step");
  return {};
}

}  // namespace levin
