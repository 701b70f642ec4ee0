#include <levin/callbacks/early_stopping.h>
#include <levin/core/run/absent_metric.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>

#include <cmath>

namespace levin {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "EarlyStopping");
  if (options_.monitor.empty())
    throw UsageError("EarlyStopping.monitor: missing; name a logged metric, such as val_loss");
  best_score_ = worst_value(options_.mode);
}

bool EarlyStopping::checks_train_epochs(Run& run) const {
  return options_.check_on_train_epoch_end.value_or(run.validates_once_per_epoch());
}

void EarlyStopping::on_validation_end(Run& run) {
  if (run.state().stage == Stage::Validate && run.fitting() && !checks_train_epochs(run)) check(run);
}

void EarlyStopping::on_train_epoch_end(Run& run) {
  if (checks_train_epochs(run)) check(run);
}

void EarlyStopping::on_fit_end(Run& run) {
  if (has_come_) return;
  if (const auto what = metric_never_came(run, "EarlyStopping.monitor", options_.monitor))
    console::warn(*what + "; so it could not stop the run");
}

void EarlyStopping::check(Run& run) {
  const std::optional<double> value = run.metric(options_.monitor);
  if (!value) {
    if (!options_.strict) return;
    throw UsageError("EarlyStopping.monitor: ", absent_metric(options_.monitor, run.metrics()));
  }
  has_come_ = true;
  const std::optional<std::string> reason = reason_to_stop(*value);
  if (!reason || !run.minimum_is_reached()) return;
  stopped_epoch_ = run.state().epoch;
  run.request_stop("EarlyStopping: " + *reason);
}

std::optional<std::string> EarlyStopping::reason_to_stop(double value) {
  const std::string& name = options_.monitor;
  const auto is = [&](const char* what) { return c10::str(name, " = ", value, " ", what); };
  if (options_.check_finite && !std::isfinite(value)) return is("is not finite");
  if (options_.stopping_threshold && is_better(value, *options_.stopping_threshold, options_.mode))
    return is(c10::str("has passed stopping_threshold ", *options_.stopping_threshold).c_str());
  if (options_.divergence_threshold && is_better(*options_.divergence_threshold, value, options_.mode))
    return is(c10::str("has passed divergence_threshold ", *options_.divergence_threshold).c_str());
  const double margin = options_.mode == MetricMode::Min ? -options_.min_delta : options_.min_delta;
  if (is_better(value, best_score_ + margin, options_.mode)) {
    if (options_.verbose) console::info(is(c10::str("improved on ", best_score_).c_str()));
    best_score_ = value;
    wait_count_ = 0;
    return {};
  }
  wait_count_ += 1;
  if (wait_count_ < options_.patience) return {};
  return c10::str(name, " did not improve on ", best_score_, " in ", wait_count_, " checks");
}

std::string EarlyStopping::state_key() const {
  return "EarlyStopping{'monitor': '" + options_.monitor + "', 'mode': '" + options_.mode.word() + "'}";
}

State EarlyStopping::state_dict() const {
  return State::dict({{"wait_count", wait_count_},
                      {"stopped_epoch", stopped_epoch_},
                      {"best_score", best_score_},
                      {"patience", options_.patience}});
}

void EarlyStopping::load_state_dict(const State& state) {
  wait_count_ = state.at("wait_count").to_int();
  stopped_epoch_ = state.at("stopped_epoch").to_int();
  const State& best = state.at("best_score");
  best_score_ = best.is_tensor() ? best.to_tensor().item<double>() : best.to_double();
  has_come_ = best_score_ != worst_value(options_.mode);
  options_.patience = state.at("patience").to_int();
}

}  // namespace levin
