#include <levin/trainer/loops/fit_steps.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/step_follower.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>

#include <algorithm>
#include <string>
#include <utility>

namespace levin {

FitSteps::FitSteps(RunContext& run, const ValidationSchedule& schedule)
    : run_(run),
      parts_(run.parts),
      counters_(run.state.counters),
      sink_(run.state.sink),
      schedule_(schedule),
      controls_(callbacks_of<FitControl>(parts_.callbacks)),
      epoch_limit_(whole_length()),
      schedulers_(run) {}

std::optional<int64_t> FitSteps::whole_length() {
  int64_t extra = 0;
  for (const FitControl* control : controls_) extra += control->extra_epochs();
  run_.state.extra_epochs = extra;
  return run_.view.max_epochs();
}

void FitSteps::begin() {
  epoch_limit_ = whole_length();  // a session makes this object before on_fit_start
  agreement_.emplace(run_, schedule_);
  step_ = make_training_step(run_.step_parts());
  check_.emplace(run_);
  run_.state.step_context.optimizers = &*step_;
}

void FitSteps::begin_epoch() {
  counters_.last_batch = false;
  parts_.hooks.on_train_epoch_start(run_.view);
}

TrainingStep::Outcome FitSteps::run_batch(Batch&& given, const BatchPlace& place) {
  const Batch batch = run_.to_device(std::move(given));
  const TrainingStep::Outcome outcome = train_on(batch, place);
  if (outcome.window_done) agreement_->at_end_of_window();
  log_if_due(outcome.stepped);
  run_.saves.save_if_asked();
  return outcome;
}

TrainingStep::Outcome FitSteps::train_on(const Batch& batch, const BatchPlace& place) {
  const int64_t batch_idx = counters_.batch_in_epoch;
  const BatchInHand in_hand(run_.state, batch, batch_idx,
                            BatchInHand::Logging{.step = counters_.batches_seen, .on_step_by_default = true});
  parts_.hooks.on_train_batch_start(run_.view);
  step_->set_forward_only(std::ranges::any_of(controls_, [](auto* one) { return one->is_forward_only(); }));
  TrainingStep::Outcome outcome = run_step(batch, place, batch_idx);
  check_->after_batch(outcome);
  if (outcome.weight && !place.on_ranks.is_idle) sink_.set_batch_weight(*outcome.weight);
  const bool updated = outcome.stepped && !outcome.skipped;
  if (updated) schedulers_.step(Interval::Step);
  if (place.last) schedulers_.step(Interval::Epoch);
  schedulers_.count_tokens(outcome);
  watch_loss(/*read_device=*/false);
  counters_.batch_phase.set_hooks_done();
  counters_.stepped = updated;
  counters_.last_batch = place.last;
  advance(/*batches=*/1, place.samples, outcome);
  parts_.hooks.on_train_batch_end(run_.view);
  if (place.wants_loss) outcome.loss = step_->loss_without_graph();
  step_->drop_output();
  return outcome;
}

TrainingStep::Outcome FitSteps::run_step(const Batch& batch, const BatchPlace& place, int64_t batch_idx) {
  const ProfileSpan span(parts_.profiler, Action::RunTrainingBatch);
  if (place.on_ranks.is_idle) return run_idle(batch, place, batch_idx);
  return step_->run(batch, batch_idx, place.last, place.on_ranks, place.program);
}

TrainingStep::Outcome FitSteps::run_idle(const Batch& batch, const BatchPlace& place, int64_t batch_idx) {
  TrainingStep::Outcome outcome;
  parts_.strategy.run_idle(sink_.metrics(),
                           [&] { outcome = step_->run(batch, batch_idx, place.last, place.on_ranks, place.program); });
  return outcome;
}

void FitSteps::end_unannounced() {
  TrainingStep::Outcome outcome;
  if (counters_.window.position != 0) outcome = step_->finish_window();
  const bool updated = outcome.stepped && !outcome.skipped;
  if (updated) schedulers_.step(Interval::Step);
  schedulers_.step(Interval::Epoch);
  schedulers_.count_tokens(outcome);
  counters_.batch_phase.set_hooks_done();
  if (!schedule_.waits_for_the_last()) counters_.batch_phase.skip_validation();
  counters_.stepped = updated;
  counters_.last_batch = true;
  advance(/*batches=*/0, /*samples=*/0, outcome);
  if (outcome.stepped)
    for (StepFollower* const follower : callbacks_of<StepFollower>(parts_.callbacks)) follower->after_step(run_.view);
  if (outcome.window_done) {
    agreement_->at_end_of_window();
    log_if_due(outcome.stepped);
  }
  run_.saves.save_if_asked();
}

void FitSteps::finish_batch() {
  if (counters_.batch_phase == BatchPhase::Done) return;
  if (counters_.stepped) schedulers_.step_with_metric(Interval::Step);
  if (counters_.last_batch) schedulers_.step_with_metric(Interval::Epoch);
  counters_.batch_phase.finish();
}

void FitSteps::end_epoch() {
  watch_loss(/*read_device=*/true);
  parts_.hooks.on_train_epoch_end(run_.view);
  // An epoch that is cut short continues when the run is resumed: it is not counted, and it is saved before its logged
  // values are taken out.
  if (!counters_.last_batch) run_.saves.save_if_asked();
  run_.log_row(measured(parts_.profiler, Action::ReadMetrics, [&] { return sink_.read_train_epoch(); }));
  if (!counters_.last_batch) return;
  counters_.epoch += 1;
  counters_.batches_of_last_epoch = std::exchange(counters_.batch_in_epoch, 0);
  run_.saves.save_if_asked();
  agreement_->now();
}

void FitSteps::end() {
  if (parts_.is_rank_zero()) check_->at_end();
  parts_.hooks.on_train_end(run_.view);
  const std::string summary = step_->summary();
  if (!summary.empty() && parts_.is_rank_zero() && !parts_.options->quiet && !parts_.trial) console::info(summary);
}

void FitSteps::advance(int64_t batches, int64_t samples, const TrainingStep::Outcome& outcome) {
  counters_.batch_in_epoch += batches;
  counters_.batches_seen += batches;
  counters_.samples_seen += samples;
  counters_.global_step += outcome.stepped;
  counters_.skipped_steps += outcome.skipped;
  counters_.elapsed_seconds = run_.state.clock.seconds();
}

void FitSteps::log_if_due(bool stepped) {
  const bool no_optimizer = parts_.optimizers.empty();
  if (!stepped && !no_optimizer) return;
  const int64_t count = no_optimizer ? counters_.batches_seen : counters_.global_step;
  if (parts_.options->log_every_n_steps == 0 || count % parts_.options->log_every_n_steps != 0) return;
  run_.log_row(measured(parts_.profiler, Action::ReadMetrics, [&] { return sink_.read_step(); }));
  watch_loss(/*read_device=*/true);
}

/// Checks the batch's loss or, with `read_device`, reads the result on the device (host sync).
void FitSteps::watch_loss(bool read_device) {
  if (run_.view.non_finite_step()) return;
  LossWatch& watch = run_.state.loss_watch;
  read_device ? watch.read() : watch.see(step_->counted_loss(), counters_.global_step + 1);
  if (const auto step = watch.first_step(); step && !parts_.trial)
    console::warn(c10::str("the loss was NaN or infinite first in step ", *step,
                           "; lower the learning rate, clip gradients (gradient_clip_val), look for the operation with "
                           "detect_anomaly, or stop such runs with the callback TerminateOnNaN"));
}

bool FitSteps::limits_reached() const {
  if (parts_.trial) return false;
  return (epoch_limit_ && counters_.epoch >= *epoch_limit_) ||
         (parts_.options->max_steps >= 0 && counters_.global_step >= parts_.options->max_steps);
}

bool FitSteps::is_over() const {
  if (limits_reached()) return true;
  if (!run_.state.stops.are_agreed() || counters_.window.position != 0) return false;
  // A signal does not wait for min_epochs and min_steps.
  if (received_signal() != 0) return true;
  return counters_.epoch >= parts_.options->min_epochs.value_or(0) &&
         counters_.global_step >= parts_.options->min_steps.value_or(0);
}

}  // namespace levin
