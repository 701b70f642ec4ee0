#include <levin/trainer/fit/fit.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/model_checkpoint.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/learned_state.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/adapters/peft_folder.h>
#include <levin/modules/trained_weights.h>
#include <levin/trainer/fit/launch_ranks.h>
#include <levin/trainer/fit/run_messages.h>
#include <levin/trainer/launch/supervisor.h>
#include <levin/trainer/loops/empty_batches.h>
#include <levin/trainer/resume/apply_checkpoint.h>
#include <levin/trainer/run/training_length.h>
#include <levin/trainer/run_folder/config_changes.h>

#include <algorithm>
#include <string>
#include <utility>

namespace levin {
namespace {

/// Returns the first ModelCheckpoint with a best score, or else the first that has a best path; null without one.
const ModelCheckpoint* best_checkpoint_of(const RunContext& run) {
  const ModelCheckpoint* found = nullptr;
  for (const ModelCheckpoint* const one : callbacks_of<const ModelCheckpoint>(run.parts.callbacks)) {
    if (one->best_model_score()) return one;
    if (found == nullptr && !one->best_model_path().empty()) found = one;
  }
  return found;
}

/// Returns the number of epochs; those that a callback has added to max_epochs do not count.
int64_t trained_epochs(const RunContext& run) {
  const int64_t epochs = run.state.counters.epoch + (run.state.counters.batch_in_epoch > 0);
  const std::optional<int64_t> limit = run.parts.options.epoch_limit();
  const int64_t beyond = limit ? std::max<int64_t>(epochs - *limit, 0) : 0;
  return epochs - std::min(beyond, run.state.extra_epochs);
}

/// Returns the result of a run that has ended or is about to end.
RunResult result_of(const RunContext& run) {
  const TrainerState& counters = run.state.counters;
  const ModelCheckpoint* best = best_checkpoint_of(run);
  return {.status = run.state.stops.reason() ? "stopped" : "completed",
          .stop_reason = run.state.stops.reason().value_or(""),
          .epochs = trained_epochs(run),
          .global_step = counters.global_step,
          .batches = counters.batches_seen,
          .non_finite_step = run.view.non_finite_step(),
          .wall_seconds = run.state.clock.seconds(),
          .metrics = run.view.metrics(),
          .best_checkpoint = best ? best->best_model_path() : std::filesystem::path(),
          .best_score = best ? best->best_model_score() : std::nullopt,
          .folder = run.state.folder.path()};
}

/// Returns what the run's data module has learned; none without one.
State learned_of_data(RunContext& run) {
  return run.data_module() != nullptr ? data::learned_section(*run.data_module()) : State();
}

}  // namespace

Fit::Fit(Assembly& assembly, Request request)
    : assembly_(assembly),
      run_(assembly.run()),
      request_(std::move(request)),
      given_(request_.inputs.loaders(run_.module(), Stage::Fit)) {
  const RunScope scope = assembly_.scope();
  run_.set_driver(this);
  const StartIdentity& start = request_.start;
  const std::string& ckpt_path = request_.inputs.ckpt_path;
  found_ = find_checkpoint({.runs = request_.runs,
                            .ckpt_path = ckpt_path,
                            .restarted = start.restarts > 0 ? start.id : "",
                            .lazily = run_.parts.options.strategy().traits.shards_parameters},
                           run_.comm());
  if (!found_) print_starts_over(run_, ckpt_path, start, request_.runs);
}

void Fit::guarded(const std::function<void()>& part) {
  try {
    assembly_.guarded(part);
  } catch (...) {
    const std::exception_ptr error = report(std::current_exception());
    end_failed();
    std::rethrow_exception(error);
  }
}

void Fit::begin() {
  guarded([&] {
    warn_of_eval_mode(run_);
    const bool validates = run_.parts.module.overrides.has(ModuleMethod::validation_step);
    if (!request_.inputs.evaluation.empty() && !validates && run_.parts.is_rank_zero() && !run_.parts.trial)
      console::warn(
          "fit is given a loader to validate with, and the module overrides no validation_step: nothing is "
          "validated");
    setup();
    restore();
    print_start(run_, assembly_.placement(), resumed_from_.string());
    assembly_.begin_profile(request_.profiled_step);
    run_.parts.hooks.on_fit_start(run_.view);
  });
}

void Fit::train() {
  guarded([&] {
    loop_.emplace(run_, LoaderSource{[this] { return take_train_loaders(); }, given_.evaluation});
    loop_->run();
  });
}

RunResult Fit::end() {
  const RunScope scope = assembly_.scope();
  guarded([&] {
    warn_of_absent_metrics(run_);
    run_.parts.hooks.on_fit_end(run_.view);
    run_.saves.save_if_asked();
    run_.saves.finish();
    assembly_.teardown();
  });
  RunResult result = result_of(run_);
  run_.parts.loggers->finalize(result.status);
  if (run_.parts.is_rank_zero()) {
    run_.state.folder.make_again_if_removed();
    if (!result.folder.empty()) {
      save_trained_weights(run_.module(), learned_of_data(run_), result.folder / "weights.pt");
      if (!adapted_layers(run_.module()).empty()) save_adapter(run_.module(), result.folder / "adapter");
    }
    run_.state.folder.write_summary(result);
  }
  if (request_.prints_end) print_end(run_, result);
  assembly_.end();
  result.warnings = assembly_.warnings();
  result.profile = assembly_.profile();
  return result;
}

void Fit::setup() {
  assembly_.setup(found_ ? &found_->checkpoint : nullptr);
  run_.await_optimizers();
  if (found_) announce_checkpoint(run_, found_->checkpoint.state, found_->checkpoint.file.string());
  run_.optimizers();
  run_.state.config = assembly_.config_of_run(request_.config);
  check_same_run(run_);
}

void Fit::configure_optimizers() {
  if (found_) assembly_.place();  // on_load_checkpoint may have resized parameters
  assembly_.configure_optimizers(request_.found_rate);
}

/// The run's config records what counts: options that a resumed run keeps are those of its checkpoint.
void Fit::keep_saved_config(const State& checkpoint) {
  const State* const own = checkpoint.find("levin");
  if (own == nullptr || run_.view.takes_present_options()) return;
  const ResumedConfig kept = config_of_resumed_run(own->at("config").to_string(), run_.state.config.json);
  if (kept.without_effect.empty()) return;
  run_.state.config.json = kept.json;
  if (run_.parts.is_rank_zero())
    for (const std::string& sentence : kept.without_effect) console::warn(sentence);
}

void Fit::restore() {
  if (found_) keep_saved_config(found_->checkpoint.state);
  assembly_.open_run_folder(found_ ? &*found_ : nullptr, request_.start.id);
  if (!found_) return;
  const State& checkpoint = found_->checkpoint.state;
  resumed_from_ = found_->checkpoint.file;
  if (!found_->resumes_in_place) run_.state.resumption.set_file(std::filesystem::absolute(resumed_from_));
  apply_checkpoint(run_, checkpoint, resumed_from_.string(), found_->keeps_stop_request);
  print_config_changes(run_, checkpoint);
  found_.reset();
}

std::exception_ptr Fit::report(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const LostRankError& lost) {
    const LostRankError with_place(lost.what(), describe_position(run_.state.counters));
    report_failure(with_place);
    write_newest_calls(*assembly_.ranks(), run_.view.folder());
    return std::make_exception_ptr(with_place);
  } catch (const std::exception& failure) {
    report_failure(failure);
  } catch (...) {
    // Of what is no std::exception there is nothing to say.
  }
  return error;
}

void Fit::end_failed() {
  if (run_.parts.trial) run_.state.sink.reset_metrics();
  if (!run_.parts.is_rank_zero()) return;
  RunResult result = result_of(run_);
  result.status = "failed";
  run_.state.folder.write_summary(result);
  // If the id is not unique, the folder is kept: a restart finds it before those of earlier starts with the same id.
  if (run_.state.counters.batches_seen == 0 && request_.start.is_unique) run_.state.folder.remove_if_bare();
}

data::Loaders Fit::make_train_loaders() {
  data::Loaders loaders = given_.train();
  const ResolvedOptions& options = run_.parts.options;
  const bool ends_by_itself = options->max_steps >= 0 || options->max_time;
  if (loaders.empty() && ends_by_itself) loaders = EmptyBatches();
  return ready_for_training(run_.parts, loaders);
}

data::Loaders Fit::take_train_loaders() {
  if (!made_early_) return make_train_loaders();
  return *std::exchange(made_early_, std::nullopt);
}

std::optional<int64_t> Fit::estimated_steps() {
  const RunParts& parts = run_.parts;
  const FitLimits fit = parts.options.whole_fit();
  std::optional<std::optional<int64_t>>& batches = run_.state.loaders.planned_batches;
  if (!batches) {
    made_early_ = make_train_loaders();
    batches.emplace(batches_per_epoch(parts.options, fit.train_batches, RankedLoader((*made_early_)[0], run_.comm())));
  }
  const auto here = [this](int64_t k) { return run_.state.accumulation_scale.on_ranks(k, run_.comm().world_size()); };
  return levin::estimated_steps(fit, *batches,
                                batches_of_step(run_.state.counters.accumulate_grad_batches, parts.callbacks, here));
}

}  // namespace levin
