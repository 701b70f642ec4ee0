#include <levin/trainer/loops/fit_loop.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>
#include <levin/core/device/rng_state.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>

#include <utility>

namespace levin {

FitLoop::FitLoop(RunContext& run, LoaderSource source)
    : run_(run),
      parts_(run.parts),
      counters_(run.state.counters),
      source_(std::move(source)),
      schedule_(parts_.options),
      steps_(run, schedule_),
      validation_(run, Stage::Validate, source_.evaluation) {}

void FitLoop::run() {
  if (nothing_to_do()) {
    // A later checkpoint must hold the random numbers that the run ended with.
    if (const State* places = run_.state.resumption.places()) load_rng_state(places->at("rng"));
    return;
  }
  const at::AutoGradMode gradients(true);
  steps_.begin();
  if (run_.comm().processes() > 1) validation_.agree_by(steps_.agreement());
  if (!run_.state.resumption.is_resumed() && validation_.enabled() && parts_.options->num_sanity_val_steps != 0) {
    parts_.hooks.on_sanity_check_start(run_.view);
    validation_.load();
    if (validation_.enabled()) validation_.run_sanity_check();
    parts_.hooks.on_sanity_check_end(run_.view);
  }
  load_loaders();
  warn_of_steps_beyond_epochs();
  if (run_.state.resumption.is_resumed()) loader_->resume();
  parts_.hooks.on_train_start(run_.view);
  // Restored last, because the code above may draw random numbers.
  if (const State* places = run_.state.resumption.places()) load_rng_state(places->at("rng"));
  if (counters_.batch_phase != BatchPhase::Validating) run_.state.resumption.drop_places();
  steps_.agreement().now();
  for (bool resumed = steps_.is_inside_epoch(); !interrupted_ && (resumed || !steps_.is_over()); resumed = false) {
    if (!resumed) reload_loaders_if_due();
    run_epoch(resumed);
  }
  steps_.end();
  run_.saves.save_if_asked();
}

bool FitLoop::nothing_to_do() const {
  return parts_.options->limit_train_batches.is_none() || (steps_.limits_reached() && !steps_.is_inside_epoch());
}

void FitLoop::load_loaders() {
  loader_.emplace(run_, source_.train());
  loaded_in_epoch_ = counters_.epoch;
  if (!validation_.enabled()) return;
  schedule_.set_epoch_batches(loader_->batches());
  validation_.load();
}

void FitLoop::reload_loaders_if_due() {
  const int64_t n = parts_.options->reload_dataloaders_every_n_epochs;
  if (n == 0 || counters_.epoch - loaded_in_epoch_ < n) return;
  validation_.unload();
  load_loaders();
}

void FitLoop::warn_of_steps_beyond_epochs() {
  const std::optional<int64_t> least = parts_.options->min_steps, most = run_.view.estimated_stepping_batches();
  if (least && most && *least > *most)
    console::warn(
        c10::str("trainer.min_steps: ", *least, " has no effect: trainer.max_epochs ends the fit after step ", *most));
}

void FitLoop::run_epoch(bool resumed) {
  run_.state.sink.use_train_table();
  if (resumed)
    validate_and_finish_batch();
  else
    begin_epoch();
  train_batches();
  if (!interrupted_) steps_.end_epoch();
}

void FitLoop::train_batches() {
  const ProfileSpan span(parts_.profiler, Action::RunTrainingEpoch);
  const auto next_batch = [&] { return loader_->next(); };
  while (!counters_.last_batch && !interrupted_ && !steps_.is_over()) {
    if (auto next = measured(parts_.profiler, Action::TrainDataloaderNext, next_batch)) {
      const BatchPlace place = loader_->place(*next);
      if (steps_.run_batch(std::move(next->batch), place).window_done) steps_.agreement().wait_while_paused();
    } else {
      if (!steps_.is_inside_epoch()) throw UsageError("fit: the training loader gave no batch");
      steps_.end_unannounced();
    }
    validate_and_finish_batch();
  }
}

void FitLoop::begin_epoch() {
  loader_->set_epoch(counters_.epoch);
  steps_.begin_epoch();
}

void FitLoop::validate_and_finish_batch() {
  const bool window_done = counters_.window.position == 0;
  const bool is_due =
      counters_.batch_phase == BatchPhase::HooksDone && validation_due(window_done, counters_.last_batch);
  if (is_due || counters_.batch_phase == BatchPhase::Validating) validate();
  if (!interrupted_) steps_.finish_batch();
}

void FitLoop::validate() {
  if (!validation_.run()) {
    interrupted_ = true;
    return;
  }
  run_.saves.save_if_asked();
  steps_.agreement().now();
}

bool FitLoop::validation_due(bool window_done, bool last) const {
  if (!validation_.enabled()) return false;
  // A run that ends early is validated once more, unless a signal asks it to end soon.
  if (window_done && run_.state.stops.are_agreed() && steps_.is_over())
    return received_signal() == 0 && schedule_.counts_this_epoch(counters_);
  return schedule_.due(counters_, last, window_done && counters_.time_to_validate);
}

}  // namespace levin
