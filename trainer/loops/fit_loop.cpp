#include <levin/trainer/loops/fit_loop.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/ScopeExit.h>
#include <levin/data/combined_loader.h>
#include <levin/modules/parallel/ranks/sync_batch_norm.h>
#include <levin/trainer/core/device/rng_state.h>
#include <levin/trainer/core/run/absent_metric.h>
#include <levin/trainer/core/system/console.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/core/system/signals.h>
#include <levin/trainer/logging/step_log.h>
#include <levin/trainer/strategies/forward_snapshot.h>

#include <algorithm>
#include <utility>

namespace levin {
namespace {

/// Combines several loaders into one that takes a batch from each.
data::Loaders one_of(const data::Loaders& loaders) {
  return loaders.size() > 1 ? data::Loaders(data::CombinedLoader(loaders)) : loaders;
}

}  // namespace

data::Loaders ready_for_training(const RunContext& run, const data::Loaders& loaders) {
  if (loaders.empty())
    throw UsageError("fit: there is no training loader; give one to fit, or override train_dataloader()");
  data::Loaders ready = one_of(loaders);
  if (run.options.seed) ready[0].set_default_seed(static_cast<uint64_t>(*run.options.seed));
  run.divide_among_ranks(ready);
  if (!run.options.overfit_batches.is_none() && !ready[0].use_sequential_order())
    console::warn("trainer.overfit_batches: the training loader keeps its own order; give one that does not shuffle");
  return ready;
}

std::optional<int64_t> batches_per_epoch(const TrainerOptions& options, const RankedLoader& train) {
  return options.limit_train_batches.of(train.size(), "trainer.limit_train_batches");
}

FitLoop::FitLoop(RunContext& run, LoaderSource source)
    : run_(run),
      source_(std::move(source)),
      validation_(run, Stage::Validate, source_.evaluation),
      schedule_(run.options) {
  run_.epoch_limit = epoch_limit(run_.options);
}

void FitLoop::run() {
  if (nothing_to_do()) {
    // A later checkpoint must hold the random numbers that the run ended with.
    if (run_.resume) load_rng_state(run_.resume->at("rng"));
    return;
  }
  const at::AutoGradMode gradients(true);
  agreement_.emplace(run_, schedule_);
  if (run_.comm().world_size() > 1) validation_.agree_by(*agreement_);
  step_ = make_training_step(run_.step_parts());
  run_.step = step_.get();
  run_.step_context.optimizers = &*step_;
  if (!run_.resumed && validation_.enabled() && run_.options.num_sanity_val_steps != 0) {
    run_.hooks.on_sanity_check_start(run_);
    validation_.load();
    if (validation_.enabled()) validation_.run_sanity_check();
    run_.hooks.on_sanity_check_end(run_);
  }
  load_loaders();
  if (run_.resumed) resume_loaders();
  run_.hooks.on_train_start(run_);
  // Restored last, because the code above may draw random numbers.
  if (run_.resume) load_rng_state(run_.resume->at("rng"));
  if (run_.counters.batch_phase != BatchPhase::Validating) run_.resume.reset();
  agreement_->now();
  for (bool resumed = inside_epoch(); !run_.interrupted && (resumed || !stop_now()); resumed = false) {
    if (!resumed) reload_loaders_if_due();
    run_epoch(resumed);
  }
  run_.hooks.on_train_end(run_);
  run_.save_if_asked();
}

bool FitLoop::nothing_to_do() const {
  return run_.options.limit_train_batches.is_none() || (limits_reached() && !inside_epoch());
}

/// Between two epochs batch_in_epoch is 0.
bool FitLoop::inside_epoch() const { return run_.counters.batch_in_epoch > 0; }

void FitLoop::load_loaders() {
  loaders_ = source_.train();
  loaded_in_epoch_ = run_.counters.epoch;
  ranked_.emplace(loaders_[0], run_.comm());
  run_.train_loaders = &loaders_;
  const std::optional<int64_t> batches = batches_per_epoch(run_.options, *ranked_);
  run_.train_batches = run_.batches_of_loader = batches;
  limit_of_epoch_ = run_.options.limit_train_batches == BatchLimit(1.0) ? std::nullopt : batches;
  if (!validation_.enabled()) return;
  schedule_.set_epoch_batches(batches);
  validation_.load();
}

/// Inside an epoch the training loader resumes after the batches that are done.
void FitLoop::resume_loaders() {
  if (!inside_epoch()) return;
  data::Loader& loader = loaders_[0];
  if (run_.resume) ranked_->check_ranks(*run_.resume, "train_loader_in_step");
  const State* saved = run_.resume ? run_.resume->find("train_loader") : nullptr;
  if (saved != nullptr && saved->size() > 0) {
    loader.load_state_dict(saved->items()[0]);
    return;
  }
  // PyTorch Lightning's checkpoints do not hold the loader's position.
  loader.set_epoch(run_.counters.epoch);
  for (int64_t i = 0; i < run_.counters.batch_in_epoch; ++i) loader.next();
}

void FitLoop::reload_loaders_if_due() {
  const int64_t n = run_.options.reload_dataloaders_every_n_epochs;
  if (n == 0 || run_.counters.epoch - loaded_in_epoch_ < n) return;
  validation_.unload();
  load_loaders();
}

void FitLoop::run_epoch(bool resumed) {
  run_.sink.use_train_table();
  run_.sink.leave_batch();
  if (resumed)
    finish_batch();
  else
    begin_epoch();
  while (!run_.counters.last_batch && !run_.interrupted && !stop_now()) {
    std::optional<data::LoadedBatch> loaded = next_batch();
    if (!loaded) {
      end_unannounced();
      break;
    }
    const bool last = loaded->last || run_.counters.batch_in_epoch + 1 == limit_of_epoch_;
    run_batch(std::move(*loaded), last);
  }
  if (!run_.interrupted) end_epoch();
}

std::optional<data::LoadedBatch> FitLoop::next_batch() {
  if (limit_of_epoch_ && run_.counters.batch_in_epoch >= *limit_of_epoch_) return {};
  return ranked_->next();
}

void FitLoop::end_unannounced() {
  if (!inside_epoch()) throw UsageError("fit: the training loader gave no batch");
  TrainerState& counters = run_.counters;
  TrainingStep::Outcome outcome;
  if (counters.window.position != 0) outcome = step_->finish_window();
  const bool updated = outcome.stepped && !outcome.skipped;
  if (updated) step_schedulers(Interval::Step, /*following_metric=*/false);
  step_schedulers(Interval::Epoch, /*following_metric=*/false);
  counters.batch_phase = schedule_.waits_for_the_last() ? BatchPhase::HooksDone : BatchPhase::Validated;
  counters.stepped = updated;
  counters.last_batch = true;
  advance(/*batches=*/0, /*samples=*/0, outcome);
  if (outcome.window_done) {
    agreement_->at_end_of_window();
    log_if_due(outcome.stepped);
  }
  run_.save_if_asked();
  finish_batch();
}

void FitLoop::begin_epoch() {
  run_.counters.last_batch = false;
  loaders_[0].set_epoch(run_.counters.epoch);
  run_.hooks.on_train_epoch_start(run_);
}

void FitLoop::end_epoch() {
  TrainerState& counters = run_.counters;
  watch_loss(/*read_device=*/true);
  run_.hooks.on_train_epoch_end(run_);
  // An epoch that is cut short continues when the run is resumed: it is not counted, and it is saved before its logged
  // values are taken out.
  if (!counters.last_batch) run_.save_if_asked();
  run_.log_row(run_.sink.read_train_epoch());
  if (!counters.last_batch) return;
  counters.epoch += 1;
  counters.batches_of_last_epoch = std::exchange(counters.batch_in_epoch, 0);
  run_.save_if_asked();
  agreement_->now();
}

void FitLoop::run_batch(data::LoadedBatch loaded, bool last) {
  TrainerState& counters = run_.counters;
  BatchOnRanks on_ranks = {.is_idle = loaded.absent};
  if (!run_.module().automatic_optimization) on_ranks.ranks_with_batch = ranked_->ranks_with(loaded);
  if (on_ranks.is_idle && loaded.batch.empty()) loaded.batch = ranked_->stand_in(counters.epoch);
  const Batch batch = run_.to_device(std::move(loaded.batch));
  run_.current_batch = &batch;
  run_.current_batch_idx = counters.batch_in_epoch;
  run_.sink.enter_batch(batch, counters.batches_seen, /*on_step_by_default=*/true);
  run_.hooks.on_train_batch_start(run_);
  const TrainingStep::Outcome outcome =
      on_ranks.is_idle ? run_idle(on_ranks, last) : step_->run(batch, run_.current_batch_idx, last, on_ranks);
  const bool updated = outcome.stepped && !outcome.skipped;
  if (updated) step_schedulers(Interval::Step, /*following_metric=*/false);
  if (last) step_schedulers(Interval::Epoch, /*following_metric=*/false);
  watch_loss(/*read_device=*/false);
  counters.batch_phase = BatchPhase::HooksDone;
  counters.stepped = updated;
  counters.last_batch = last;
  advance(/*batches=*/1, loaded.samples, outcome);
  run_.hooks.on_train_batch_end(run_);
  step_->drop_output();
  run_.current_batch = nullptr;
  run_.sink.leave_batch();
  if (outcome.window_done) agreement_->at_end_of_window();
  log_if_due(outcome.stepped);
  run_.save_if_asked();
  finish_batch();
}

TrainingStep::Outcome FitLoop::run_idle(const BatchOnRanks& on_ranks, bool last) {
  std::set<LoggedMetric*> metrics = run_.sink.metrics();
  for (const auto& [name, metric] : run_.module().registered_metrics()) metrics.insert(metric);
  const ForwardSnapshot before(run_.module(), metrics);
  const parallel::UncountedBatch counts_for_nothing;
  StepLog unread;
  unread.begin(0);
  LogSink* const sink = std::exchange(run_.step_context.sink, &unread);
  const auto sink_as_before = c10::make_scope_exit([&] { run_.step_context.sink = sink; });
  const TrainingStep::Outcome outcome = step_->run(*run_.current_batch, run_.current_batch_idx, last, on_ranks);
  before.restore();
  return outcome;
}

/// Runs what follows a batch's hooks. A run that was saved there enters here.
void FitLoop::finish_batch() {
  TrainerState& counters = run_.counters;
  const bool window_done = counters.window.position == 0;
  if (counters.batch_phase == BatchPhase::HooksDone && validation_due(window_done, counters.last_batch)) {
    if (window_done) run_.module().on_validation_model_zero_grad();
    validate();
  } else if (counters.batch_phase == BatchPhase::Validating) {
    validate();
  }
  if (run_.interrupted || counters.batch_phase == BatchPhase::Done) return;
  if (counters.stepped) step_schedulers(Interval::Step, /*following_metric=*/true);
  if (counters.last_batch) step_schedulers(Interval::Epoch, /*following_metric=*/true);
  counters.batch_phase = BatchPhase::Done;
}

void FitLoop::advance(int64_t batches, int64_t samples, const TrainingStep::Outcome& outcome) {
  TrainerState& counters = run_.counters;
  counters.batch_in_epoch += batches;
  counters.batches_seen += batches;
  counters.samples_seen += samples;
  counters.global_step += outcome.stepped;
  counters.skipped_steps += outcome.skipped;
  counters.elapsed_seconds = run_.wall_seconds();
}

void FitLoop::log_if_due(bool stepped) {
  const bool no_optimizer = run_.optimizer_list.empty();
  if (!stepped && !no_optimizer) return;
  const int64_t count = no_optimizer ? run_.counters.batches_seen : run_.counters.global_step;
  if (run_.options.log_every_n_steps == 0 || count % run_.options.log_every_n_steps != 0) return;
  run_.log_row(run_.sink.read_step());
  watch_loss(/*read_device=*/true);
}

/// Checks the batch's loss or, with `read_device`, reads the result on the device (host sync).
void FitLoop::watch_loss(bool read_device) {
  if (run_.non_finite_step()) return;
  LossWatch& watch = run_.loss_watch;
  read_device ? watch.read() : watch.see(step_->counted_loss(), run_.counters.global_step + 1);
  if (const auto step = watch.first_step(); step && !run_.trial)
    console::warn(c10::str("the loss was NaN or infinite first in step ", *step,
                           "; lower the learning rate, clip gradients (gradient_clip_val), look for the operation with "
                           "detect_anomaly, or stop such runs with the callback TerminateOnNaN"));
}

void FitLoop::validate() {
  if (!validation_.run()) {
    run_.interrupted = true;
    return;
  }
  run_.counters.validated_seconds = run_.wall_seconds();
  run_.counters.batch_phase = BatchPhase::Validated;
  run_.save_if_asked();
  agreement_->now();
}

void FitLoop::step_schedulers(Interval interval, bool following_metric) {
  if (run_.trial) return;
  const char* wanted = interval == Interval::Step ? "step" : "epoch";
  // Schedulers that follow a metric step after the validation, when global_step has already advanced.
  const int64_t step = run_.counters.global_step - run_.counters.skipped_steps + (following_metric ? 0 : 1);
  const int64_t count = interval == Interval::Step ? step : run_.counters.epoch + 1;
  for (size_t i = 0; i < run_.scheduler_list.size(); ++i) {
    LRScheduler& scheduler = *run_.scheduler_list[i];
    const LRSchedulerConfig& config = run_.scheduler_configs[i];
    if (scheduler.needs_metric() != following_metric || config.interval != wanted || count % config.frequency != 0)
      continue;
    std::optional<double> metric;
    if (following_metric) {
      metric = monitored(config);
      if (!metric) continue;
    }
    run_.module().lr_scheduler_step(scheduler, metric);
  }
}

std::optional<double> FitLoop::monitored(const LRSchedulerConfig& config) {
  const std::optional<double> metric = run_.metric(config.monitor);
  if (metric) return metric;
  const std::string message = "lr_scheduler.monitor: " + absent_metric(config.monitor, run_.metrics());
  if (config.strict) throw UsageError(message, "; with lr_scheduler.strict = false the step is skipped");
  if (warned_monitors_.insert(config.monitor).second) console::warn(message + "; the scheduler does not step");
  return {};
}

bool FitLoop::validation_due(bool window_done, bool last) const {
  if (!validation_.enabled()) return false;
  if (window_done && run_.stops() && stop_now()) return schedule_.counts_this_epoch(run_.counters);
  return schedule_.due(run_.counters, last, window_done && run_.counters.time_to_validate);
}

bool FitLoop::limits_reached() const {
  if (run_.trial) return false;
  const TrainerOptions& options = run_.options;
  return (run_.epoch_limit && run_.counters.epoch >= *run_.epoch_limit) ||
         (options.max_steps >= 0 && run_.counters.global_step >= options.max_steps);
}

bool FitLoop::stop_now() const {
  if (limits_reached()) return true;
  if (!run_.stops() || run_.counters.window.position != 0) return false;
  // A signal does not wait for min_epochs and min_steps.
  if (received_signal() != 0) return true;
  return run_.counters.epoch >= run_.options.min_epochs.value_or(0) &&
         run_.counters.global_step >= run_.options.min_steps.value_or(0);
}

}  // namespace levin
