#include <levin/trainer/loops/fit_loop.h>
#include <ATen/core/grad_mode.h>
#include <levin/trainer/core/console.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/signals.h>

#include <algorithm>

namespace levin {
namespace {

/// Bits of a window's agreement.
constexpr uint64_t kStop = 1;

}  // namespace

std::optional<int64_t> epoch_limit(const TrainerOptions& options) {
  return *options.max_epochs < 0 ? std::nullopt : options.max_epochs;
}

std::optional<int64_t> estimated_steps(const TrainerOptions& options, std::optional<int64_t> batches) {
  std::optional<int64_t> steps;
  const std::optional<int64_t> epochs = epoch_limit(options);
  if (epochs && batches) {
    const int64_t k = options.accumulate_grad_batches;
    steps = *epochs * ((*batches + k - 1) / k);
  }
  if (options.max_steps >= 0) steps = steps ? std::min(*steps, options.max_steps) : options.max_steps;
  return steps;
}

FitLoop::FitLoop(RunContext& run, LoaderSource source)
    : run_(run), source_(std::move(source)), validation_(run, Stage::Validate, source_.evaluation) {
  run_.epoch_limit = epoch_limit(run_.options);
}

void FitLoop::run() {
  if (nothing_to_do()) return;
  const at::AutoGradMode gradients(true);
  step_.emplace(run_);
  run_.step_context.optimizers = &*step_;
  if (validation_.enabled() && run_.options.num_sanity_val_steps != 0) {
    run_.hooks.on_sanity_check_start(run_);
    validation_.load();
    if (validation_.enabled()) validation_.run_sanity_check();
    run_.hooks.on_sanity_check_end(run_);
  }
  load_loaders();
  run_.hooks.on_train_start(run_);
  while (!stop_now()) run_epoch();
  run_.hooks.on_train_end(run_);
}

bool FitLoop::nothing_to_do() const { return run_.options.limit_train_batches.is_none() || limits_reached(); }

void FitLoop::load_loaders() {
  loaders_ = source_.train();
  if (loaders_.empty())
    throw UsageError("fit: there is no training loader; give one to fit, or override train_dataloader()");
  if (loaders_.size() > 1)
    throw UsageError("fit: expected one training loader, got ", loaders_.size(), "; combine their datasets");
  if (run_.options.seed) loaders_[0].set_default_seed(static_cast<uint64_t>(*run_.options.seed));
  batches_per_epoch_ = run_.options.limit_train_batches.of(loaders_[0].size(), "trainer.limit_train_batches");
  run_.batches_of_loader = batches_per_epoch_;
  if (!validation_.enabled()) return;
  validate_every_batches_ = run_.options.val_check_interval.of(batches_per_epoch_, "trainer.val_check_interval");
  validation_.load();
}

void FitLoop::run_epoch() {
  data::Loader& loader = loaders_[0];
  loader.set_epoch(run_.counters.epoch);
  run_.sink.use_train_table();
  run_.sink.set_batch(nullptr, /*on_step_by_default=*/false);
  run_.hooks.on_train_epoch_start(run_);
  for (bool last = false; !last && !stop_now();) {
    std::optional<data::LoadedBatch> loaded = loader.next();
    if (!loaded) {
      if (run_.counters.batch_in_epoch == 0) throw UsageError("fit: the training loader gave no batch");
      break;
    }
    last = loaded->last || run_.counters.batch_in_epoch + 1 == batches_per_epoch_;
    run_batch(std::move(*loaded), last);
  }
  run_.hooks.on_train_epoch_end(run_);
  run_.log_row(run_.sink.read_train_epoch());
  run_.counters.epoch += 1;
  run_.counters.batch_in_epoch = 0;
}

void FitLoop::run_batch(data::LoadedBatch loaded, bool last) {
  const Batch batch = run_.to_device(std::move(loaded.batch));
  run_.current_batch = &batch;
  run_.current_batch_idx = run_.counters.batch_in_epoch;
  run_.sink.set_batch(&batch, /*on_step_by_default=*/true);
  run_.hooks.on_train_batch_start(run_);
  const OptimizerStep::Outcome outcome = step_->run(batch, run_.current_batch_idx, last);
  if (outcome.stepped) step_schedulers(Interval::Step, /*following_metric=*/false);
  if (last) step_schedulers(Interval::Epoch, /*following_metric=*/false);
  advance(loaded.samples, outcome.stepped);
  run_.hooks.on_train_batch_end(run_);
  step_->drop_output();
  run_.current_batch = nullptr;
  run_.sink.set_batch(nullptr, /*on_step_by_default=*/false);
  if (outcome.window_done) agree();
  log_if_due(outcome.stepped);
  if (validation_due(outcome.window_done, last)) {
    if (outcome.window_done) run_.module().on_validation_model_zero_grad();
    validation_.run();
  }
  if (outcome.stepped) step_schedulers(Interval::Step, /*following_metric=*/true);
  if (last) step_schedulers(Interval::Epoch, /*following_metric=*/true);
}

void FitLoop::advance(int64_t samples, bool stepped) {
  TrainerState& counters = run_.counters;
  counters.batch_in_epoch += 1;
  counters.batches_seen += 1;
  counters.samples_seen += samples;
  counters.global_step += stepped;
  counters.elapsed_seconds = run_.wall_seconds();
}

void FitLoop::agree() {
  if (run_.options.max_time && run_.counters.elapsed_seconds >= run_.options.max_time->seconds())
    run_.request_stop("max_time was reached");
  const uint64_t bits = run_.stop_reason ? kStop : 0;
  const Agreement agreement = run_.strategy.agree(bits, run_.counters.window.sum_of_weights);
  if ((agreement.bits & kStop) && !run_.stop_reason) run_.request_stop("another rank asked to stop");
}

void FitLoop::log_if_due(bool stepped) {
  const bool no_optimizer = run_.optimizer_list.empty();
  if (!stepped && !no_optimizer) return;
  const int64_t count = no_optimizer ? run_.counters.batches_seen : run_.counters.global_step;
  if (run_.options.log_every_n_steps > 0 && count % run_.options.log_every_n_steps == 0)
    run_.log_row(run_.sink.read_step());
}

void FitLoop::step_schedulers(Interval interval, bool following_metric) {
  const char* wanted = interval == Interval::Step ? "step" : "epoch";
  // Schedulers that follow a metric step after the validation, when global_step has advanced already.
  const int64_t step = run_.counters.global_step + (following_metric ? 0 : 1);
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
  std::string logged;
  for (const auto& entry : run_.metrics()) logged += (logged.empty() ? "; there are: " : ", ") + entry.first;
  const std::string message = "lr_scheduler.monitor: no metric '" + config.monitor + "' was logged" + logged;
  if (config.strict) throw UsageError(message, "; with lr_scheduler.strict = false the step is skipped");
  if (warned_monitors_.insert(config.monitor).second) console::warn(message + "; the scheduler does not step");
  return {};
}

bool FitLoop::validation_due(bool window_done, bool last) const {
  if (!validation_.enabled()) return false;
  const int64_t every_n_epochs = run_.options.check_val_every_n_epoch;
  if (every_n_epochs > 0 && (run_.counters.epoch + 1) % every_n_epochs != 0) return false;
  if (window_done && run_.stop_reason && stop_now()) return true;
  if (!validate_every_batches_) return last;
  return run_.counters.batch_in_epoch % *validate_every_batches_ == 0;
}

bool FitLoop::limits_reached() const {
  const TrainerOptions& options = run_.options;
  return (run_.epoch_limit && run_.counters.epoch >= *run_.epoch_limit) ||
         (options.max_steps >= 0 && run_.counters.global_step >= options.max_steps);
}

bool FitLoop::stop_now() const {
  if (limits_reached()) return true;
  if (!run_.stop_reason || run_.counters.window.position != 0) return false;
  // A signal does not wait for the least number of epochs and steps.
  if (received_signal() != 0) return true;
  return run_.counters.epoch >= run_.options.min_epochs.value_or(0) &&
         run_.counters.global_step >= run_.options.min_steps.value_or(0);
}

}  // namespace levin
