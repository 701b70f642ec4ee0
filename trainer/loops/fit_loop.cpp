#include <levin/trainer/loops/fit_loop.h>
#include <ATen/core/grad_mode.h>
#include <levin/data/combined_loader.h>
#include <levin/trainer/core/device/rng_state.h>
#include <levin/trainer/core/system/console.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/core/system/signals.h>

#include <algorithm>
#include <utility>

namespace levin {
namespace {

/// Combines several loaders into one that takes a batch from each.
data::Loaders one_of(const data::Loaders& loaders) {
  return loaders.size() > 1 ? data::Loaders(data::CombinedLoader(loaders)) : loaders;
}

}  // namespace

data::Loaders ready_for_training(const RunParts& parts, const data::Loaders& loaders) {
  if (loaders.empty())
    throw UsageError("fit: there is no training loader; give one to fit, or override train_dataloader()");
  data::Loaders ready = one_of(loaders);
  if (parts.options.seed) ready[0].set_default_seed(static_cast<uint64_t>(*parts.options.seed));
  divide_among_ranks(parts, ready);
  if (!parts.options.overfit_batches.is_none() && !ready[0].use_sequential_order())
    console::warn("trainer.overfit_batches: the training loader keeps its own order; give one that does not shuffle");
  return ready;
}

std::optional<int64_t> batches_per_epoch(const ResolvedOptions& options, const RankedLoader& train) {
  return options.limit_train_batches.of(train.size(), "trainer.limit_train_batches");
}

FitLoop::FitLoop(RunContext& run, LoaderSource source)
    : run_(run),
      parts_(run.parts()),
      counters_(run.counters()),
      sink_(run.sink()),
      source_(std::move(source)),
      schedulers_(run),
      validation_(run, Stage::Validate, source_.evaluation),
      schedule_(parts_.options) {}

void FitLoop::run() {
  if (nothing_to_do()) {
    // A later checkpoint must hold the random numbers that the run ended with.
    if (const State* places = run_.resumption().places()) load_rng_state(places->at("rng"));
    return;
  }
  const at::AutoGradMode gradients(true);
  agreement_.emplace(run_, schedule_);
  if (run_.comm().world_size() > 1) validation_.agree_by(*agreement_);
  step_ = make_training_step(run_.step_parts());
  run_.step_context().optimizers = &*step_;
  if (!run_.resumption().is_resumed() && validation_.enabled() && parts_.options.num_sanity_val_steps != 0) {
    parts_.hooks.on_sanity_check_start(run_);
    validation_.load();
    if (validation_.enabled()) validation_.run_sanity_check();
    parts_.hooks.on_sanity_check_end(run_);
  }
  load_loaders();
  if (run_.resumption().is_resumed()) resume_loaders();
  parts_.hooks.on_train_start(run_);
  // Restored last, because the code above may draw random numbers.
  if (const State* places = run_.resumption().places()) load_rng_state(places->at("rng"));
  if (counters_.batch_phase != BatchPhase::Validating) run_.resumption().drop_places();
  agreement_->now();
  for (bool resumed = inside_epoch(); !interrupted_ && (resumed || !stop_now()); resumed = false) {
    if (!resumed) reload_loaders_if_due();
    run_epoch(resumed);
  }
  parts_.hooks.on_train_end(run_);
  run_.save_if_asked();
}

bool FitLoop::nothing_to_do() const {
  return parts_.options.limit_train_batches.is_none() || (limits_reached() && !inside_epoch());
}

/// Between two epochs batch_in_epoch is 0.
bool FitLoop::inside_epoch() const { return counters_.batch_in_epoch > 0; }

void FitLoop::load_loaders() {
  loaders_ = source_.train();
  loaded_in_epoch_ = counters_.epoch;
  ranked_.emplace(loaders_[0], run_.comm());
  run_.set_train_loaders(loaders_);
  const std::optional<int64_t> batches = batches_per_epoch(parts_.options, *ranked_);
  run_.set_train_batches(batches);
  run_.set_num_batches(batches);
  limit_of_epoch_ = parts_.options.limit_train_batches == BatchLimit(1.0) ? std::nullopt : batches;
  if (!validation_.enabled()) return;
  schedule_.set_epoch_batches(batches);
  validation_.load();
}

/// Inside an epoch the training loader resumes after the batches that are done.
void FitLoop::resume_loaders() {
  if (!inside_epoch()) return;
  data::Loader& loader = loaders_[0];
  const State* const places = run_.resumption().places();
  if (places != nullptr) ranked_->check_ranks(*places, "train_loader_in_step");
  const State* saved = places != nullptr ? places->find("train_loader") : nullptr;
  if (saved != nullptr && saved->size() > 0) {
    loader.load_state_dict(saved->items()[0]);
    return;
  }
  // PyTorch Lightning's checkpoints do not hold the loader's position.
  loader.set_epoch(counters_.epoch);
  for (int64_t i = 0; i < counters_.batch_in_epoch; ++i) loader.next();
}

void FitLoop::reload_loaders_if_due() {
  const int64_t n = parts_.options.reload_dataloaders_every_n_epochs;
  if (n == 0 || counters_.epoch - loaded_in_epoch_ < n) return;
  validation_.unload();
  load_loaders();
}

void FitLoop::run_epoch(bool resumed) {
  sink_.use_train_table();
  if (resumed)
    validate_and_step_plateaus();
  else
    begin_epoch();
  while (!counters_.last_batch && !interrupted_ && !stop_now()) {
    std::optional<data::LoadedBatch> loaded = next_batch();
    if (!loaded) {
      end_unannounced();
      break;
    }
    const bool last = loaded->last || counters_.batch_in_epoch + 1 == limit_of_epoch_;
    run_batch(std::move(*loaded), last);
  }
  if (!interrupted_) end_epoch();
}

std::optional<data::LoadedBatch> FitLoop::next_batch() {
  if (limit_of_epoch_ && counters_.batch_in_epoch >= *limit_of_epoch_) return {};
  return ranked_->next();
}

void FitLoop::end_unannounced() {
  if (!inside_epoch()) throw UsageError("fit: the training loader gave no batch");
  TrainingStep::Outcome outcome;
  if (counters_.window.position != 0) outcome = step_->finish_window();
  const bool updated = outcome.stepped && !outcome.skipped;
  if (updated) schedulers_.step(Interval::Step);
  schedulers_.step(Interval::Epoch);
  counters_.batch_phase = schedule_.waits_for_the_last() ? BatchPhase::HooksDone : BatchPhase::Validated;
  counters_.stepped = updated;
  counters_.last_batch = true;
  advance(/*batches=*/0, /*samples=*/0, outcome);
  if (outcome.window_done) {
    agreement_->at_end_of_window();
    log_if_due(outcome.stepped);
  }
  run_.save_if_asked();
  validate_and_step_plateaus();
}

void FitLoop::begin_epoch() {
  counters_.last_batch = false;
  loaders_[0].set_epoch(counters_.epoch);
  parts_.hooks.on_train_epoch_start(run_);
}

void FitLoop::end_epoch() {
  watch_loss(/*read_device=*/true);
  parts_.hooks.on_train_epoch_end(run_);
  // An epoch that is cut short continues when the run is resumed: it is not counted, and it is saved before its logged
  // values are taken out.
  if (!counters_.last_batch) run_.save_if_asked();
  run_.log_row(sink_.read_train_epoch());
  if (!counters_.last_batch) return;
  counters_.epoch += 1;
  counters_.batches_of_last_epoch = std::exchange(counters_.batch_in_epoch, 0);
  run_.save_if_asked();
  agreement_->now();
}

void FitLoop::run_batch(data::LoadedBatch loaded, bool last) {
  BatchOnRanks on_ranks = {.is_idle = loaded.absent};
  if (!run_.module().automatic_optimization) on_ranks.ranks_with_batch = ranked_->ranks_with(loaded);
  if (on_ranks.is_idle && loaded.batch.empty()) loaded.batch = ranked_->stand_in(counters_.epoch);
  const Batch batch = run_.to_device(std::move(loaded.batch));
  const TrainingStep::Outcome outcome = train_on(batch, loaded.samples, last, on_ranks);
  if (outcome.window_done) agreement_->at_end_of_window();
  log_if_due(outcome.stepped);
  run_.save_if_asked();
  validate_and_step_plateaus();
}

TrainingStep::Outcome FitLoop::train_on(const Batch& batch, int64_t samples, bool last, const BatchOnRanks& on_ranks) {
  const int64_t batch_idx = counters_.batch_in_epoch;
  const BatchInHand in_hand(run_, batch, batch_idx,
                            BatchInHand::Logging{.step = counters_.batches_seen, .on_step_by_default = true});
  parts_.hooks.on_train_batch_start(run_);
  const TrainingStep::Outcome outcome =
      on_ranks.is_idle ? run_idle(batch, batch_idx, last, on_ranks) : step_->run(batch, batch_idx, last, on_ranks);
  const bool updated = outcome.stepped && !outcome.skipped;
  if (updated) schedulers_.step(Interval::Step);
  if (last) schedulers_.step(Interval::Epoch);
  watch_loss(/*read_device=*/false);
  counters_.batch_phase = BatchPhase::HooksDone;
  counters_.stepped = updated;
  counters_.last_batch = last;
  advance(/*batches=*/1, samples, outcome);
  parts_.hooks.on_train_batch_end(run_);
  step_->drop_output();
  return outcome;
}

TrainingStep::Outcome FitLoop::run_idle(const Batch& batch, int64_t batch_idx, bool last,
                                        const BatchOnRanks& on_ranks) {
  TrainingStep::Outcome outcome;
  parts_.strategy.run_idle(sink_.metrics(), [&] { outcome = step_->run(batch, batch_idx, last, on_ranks); });
  return outcome;
}

void FitLoop::validate_and_step_plateaus() {
  const bool window_done = counters_.window.position == 0;
  if (counters_.batch_phase == BatchPhase::HooksDone && validation_due(window_done, counters_.last_batch)) {
    if (window_done) run_.module().on_validation_model_zero_grad();
    validate();
  } else if (counters_.batch_phase == BatchPhase::Validating) {
    validate();
  }
  if (interrupted_ || counters_.batch_phase == BatchPhase::Done) return;
  if (counters_.stepped) schedulers_.step_with_metric(Interval::Step);
  if (counters_.last_batch) schedulers_.step_with_metric(Interval::Epoch);
  counters_.batch_phase = BatchPhase::Done;
}

void FitLoop::advance(int64_t batches, int64_t samples, const TrainingStep::Outcome& outcome) {
  counters_.batch_in_epoch += batches;
  counters_.batches_seen += batches;
  counters_.samples_seen += samples;
  counters_.global_step += outcome.stepped;
  counters_.skipped_steps += outcome.skipped;
  counters_.elapsed_seconds = run_.clock().seconds();
}

void FitLoop::log_if_due(bool stepped) {
  const bool no_optimizer = parts_.optimizers.empty();
  if (!stepped && !no_optimizer) return;
  const int64_t count = no_optimizer ? counters_.batches_seen : counters_.global_step;
  if (parts_.options.log_every_n_steps == 0 || count % parts_.options.log_every_n_steps != 0) return;
  run_.log_row(sink_.read_step());
  watch_loss(/*read_device=*/true);
}

/// Checks the batch's loss or, with `read_device`, reads the result on the device (host sync).
void FitLoop::watch_loss(bool read_device) {
  if (run_.non_finite_step()) return;
  LossWatch& watch = run_.loss_watch();
  read_device ? watch.read() : watch.see(step_->counted_loss(), counters_.global_step + 1);
  if (const auto step = watch.first_step(); step && !parts_.trial)
    console::warn(c10::str("the loss was NaN or infinite first in step ", *step,
                           "; lower the learning rate, clip gradients (gradient_clip_val), look for the operation with "
                           "detect_anomaly, or stop such runs with the callback TerminateOnNaN"));
}

void FitLoop::validate() {
  if (!validation_.run()) {
    interrupted_ = true;
    return;
  }
  counters_.validated_seconds = run_.clock().seconds();
  counters_.batch_phase = BatchPhase::Validated;
  run_.save_if_asked();
  agreement_->now();
}

bool FitLoop::validation_due(bool window_done, bool last) const {
  if (!validation_.enabled()) return false;
  if (window_done && run_.stops().are_agreed() && stop_now()) return schedule_.counts_this_epoch(counters_);
  return schedule_.due(counters_, last, window_done && counters_.time_to_validate);
}

bool FitLoop::limits_reached() const {
  if (parts_.trial) return false;
  const std::optional<int64_t> epochs = parts_.options.epoch_limit();
  return (epochs && counters_.epoch >= *epochs) ||
         (parts_.options.max_steps >= 0 && counters_.global_step >= parts_.options.max_steps);
}

bool FitLoop::stop_now() const {
  if (limits_reached()) return true;
  if (!run_.stops().are_agreed() || counters_.window.position != 0) return false;
  // A signal does not wait for min_epochs and min_steps.
  if (received_signal() != 0) return true;
  return counters_.epoch >= parts_.options.min_epochs.value_or(0) &&
         counters_.global_step >= parts_.options.min_steps.value_or(0);
}

}  // namespace levin
