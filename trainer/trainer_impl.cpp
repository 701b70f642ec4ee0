#include <levin/trainer/trainer_impl.h>
#include <levin/callbacks/before_fit.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/trainer/fit/assembly.h>
#include <levin/trainer/fit/fit.h>
#include <levin/trainer/fit/launch_ranks.h>
#include <levin/trainer/fit/run_messages.h>
#include <levin/trainer/launch/start_identity.h>
#include <levin/trainer/loops/evaluation_loop.h>
#include <levin/trainer/loops/predict_loop.h>
#include <levin/trainer/resume/apply_checkpoint.h>
#include <levin/trainer/run/run_inputs.h>
#include <levin/trainer/run_folder/find_checkpoint.h>
#include <levin/trainer/session/session.h>
#include <levin/trainer/session/session_setup.h>

#include <atomic>

namespace levin {
namespace {

/// Returns the identity of the process's next fit, by which a restart finds its checkpoints. All ranks start the same
/// fits in the same order.
StartIdentity start_of_next_fit() {
  static std::atomic<int64_t> fits = 0;
  StartIdentity start = find_start();
  start.id = start.of_fit(++fits);
  return start;
}

/// Loads only the weights; the module's on_load_checkpoint may resize its parameters first.
void load_for_evaluation(Assembly& parts, const ReadCheckpoint& checkpoint) {
  announce_checkpoint(parts.run(), checkpoint.state, checkpoint.file.string());
  parts.place();
  apply_weights(parts.run(), checkpoint.state, checkpoint.file.string());
}

}  // namespace

Trainer::Impl::Impl(PlacedOptions placed, bool is_for_trials)
    : options(std::move(placed.options)), placement(std::move(placed.placement)), is_for_trials_(is_for_trials) {}

std::unique_ptr<Trainer> Trainer::Impl::make(PlacedOptions placed) {
  std::unique_ptr<Trainer> made(new Trainer(std::make_unique<Impl>(std::move(placed), /*is_for_trials=*/false)));
  of(*made).check_ranks_and_warn();
  return made;
}

void Trainer::Impl::check_ranks_and_warn() const {
  refuse_missing_ranks(options, placement);
  if (!options->print_warnings) return;
  for (const std::string& warning : options.warnings()) console::warn(warning);
}

std::unique_ptr<Trainer> Trainer::Impl::for_dry_run(TrainerOptions given) {
  ResolvedOptions options = resolve(std::move(given));
  Placement placement = placement_for_dry_run(options, visible_gpus());
  return std::unique_ptr<Trainer>(new Trainer(
      std::make_unique<Impl>(PlacedOptions{std::move(options), std::move(placement)}, /*is_for_trials=*/false)));
}

std::unique_ptr<Trainer> Trainer::Impl::for_trials(const std::vector<CallbackEntry>& callbacks,
                                                   const std::function<void(TrainerOptions&)>& change) const {
  return std::unique_ptr<Trainer>(new Trainer(
      std::make_unique<Impl>(PlacedOptions{options.for_trial(callbacks, change), placement}, /*is_for_trials=*/true)));
}

ProcessGroup* Trainer::Impl::ranks() {
  if (placement.strategy.has_ranks() && !ranks_) ranks_ = join_ranks(placement, options);
  return ranks_.get();
}

void Trainer::Impl::refuse_untuned() const {
  const auto refuse = [](const char* option, const char* what) {
    throw UsageError("trainer.", option, ": fit itself looks for no ", what,
                     "; call levin::tune(trainer, module, data) before fit, or leave ", option, " unset");
  };
  if (options->auto_scale_batch_size && !tuned.batch_size) refuse("auto_scale_batch_size", "batch size");
  if (options->auto_lr_find && !tuned.lr_found) refuse("auto_lr_find", "learning rate");
}

std::optional<FoundCheckpoint> Trainer::Impl::find_for_evaluation(const std::string& ckpt_path, RunContext& run) const {
  const FindRequest request{.runs = options.runs_folder(),
                            .ckpt_path = ckpt_path,
                            .use = CheckpointUse::Weights,
                            .lazily = options.strategy().traits.shards_parameters};
  std::optional<FoundCheckpoint> found = find_checkpoint(request, run.comm());
  if (ckpt_path == "last" && !found)
    throw UsageError("ckpt_path \"last\": there is no checkpoint below ", request.runs.string());
  return found;
}

RunResult Trainer::Impl::fit(Trainer& trainer, ModuleRef module, const RunInputs& inputs) {
  refuse_untuned();
  if (!is_for_trials_ && !placement.is_dry_run)
    for (BeforeFit* const one : callbacks_of<BeforeFit>(options->callbacks)) one->before_fit(trainer, module, inputs);
  newest_fit_.reset();
  newest_fit_ =
      std::make_shared<Assembly>(options, placement, ranks(), module, inputs.data_module, Stage::Fit, is_for_trials_);
  const RunScope scope = newest_fit_->scope();
  try {
    Fit fit(*newest_fit_, {.inputs = inputs,
                           .config = config,
                           .found_rate = {.lr = tuned.lr, .factor = tuned.lr_factor},
                           .start = is_for_trials_ || placement.is_dry_run ? StartIdentity() : start_of_next_fit(),
                           .runs = options.runs_folder(),
                           .prints_end = prints_end});
    fit.begin();
    fit.train();
    RunResult result = fit.end();
    profile = result.profile;
    return result;
  } catch (...) {
    newest_fit_.reset();
    throw;
  }
}

Session Trainer::Impl::start(ModuleRef module, SessionOptions session) {
  refuse_untuned();
  if (options->mesh.tensor > 1)
    throw UsageError("trainer.mesh.tensor: a session runs without tensor parallelism; set mesh.tensor to 1");
  ranks();
  return Session({.options = options,
                  .placement = placement,
                  .ranks = ranks_,
                  .module = module,
                  .config = config,
                  .found_rate = {.lr = tuned.lr, .factor = tuned.lr_factor},
                  .start = placement.is_dry_run ? StartIdentity() : start_of_next_fit(),
                  .session = std::move(session)});
}

void Trainer::Impl::save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) {
  if (!newest_fit_) throw UsageError("Trainer::save_checkpoint: there was no fit yet, or it failed");
  RunContext& run = newest_fit_->run();
  run.check_module_exists("Trainer::save_checkpoint");
  run.view.save_checkpoint(std::filesystem::absolute(path), std::move(how));
  if (!run.has_ended()) return;
  run.saves.save_if_asked();
  run.saves.finish();
}

std::vector<Metrics> Trainer::Impl::evaluate(ModuleRef module, const RunInputs& inputs, Stage stage) {
  Assembly parts(options, placement, ranks(), module, inputs.data_module, stage);
  const RunScope scope = parts.scope();
  RunContext& run = parts.run();
  const std::optional<FoundCheckpoint> found = find_for_evaluation(inputs.ckpt_path, run);
  if (found) print_weights_file(run, stage, found->checkpoint.file);
  parts.guarded([&] {
    parts.setup(found ? &found->checkpoint : nullptr);
    if (found) load_for_evaluation(parts, found->checkpoint);
    parts.begin_profile(stage == Stage::Test ? Action::TestNext : Action::ValNext);
    EvaluationLoop loop(run, stage, inputs.loaders(*module.module, stage).evaluation);
    loop.load();
    if (!loop.enabled())
      throw UsageError(to_string(stage), ": there is nothing to do: the module needs a ",
                       stage == Stage::Test ? "test" : "validation", "_step, and a loader must be given");
    loop.run();
    parts.teardown();
  });
  profile = parts.profile();
  return run.state.sink.by_loader();
}

std::vector<std::vector<Batch>> Trainer::Impl::predict(ModuleRef module, const RunInputs& inputs) {
  Assembly parts(options, placement, ranks(), module, inputs.data_module, Stage::Predict);
  const RunScope scope = parts.scope();
  std::vector<std::vector<Batch>> predictions;
  const std::optional<FoundCheckpoint> found = find_for_evaluation(inputs.ckpt_path, parts.run());
  if (found) print_weights_file(parts.run(), Stage::Predict, found->checkpoint.file);
  parts.guarded([&] {
    parts.setup(found ? &found->checkpoint : nullptr);
    if (found) load_for_evaluation(parts, found->checkpoint);
    parts.begin_profile(Action::PredictNext);
    const data::Loaders loaders = inputs.loaders(*module.module, Stage::Predict).evaluation();
    if (loaders.empty()) throw UsageError("predict: there is no loader; give one, or override predict_dataloader()");
    predictions = run_predict_loop(parts.run(), loaders);
    parts.teardown();
  });
  profile = parts.profile();
  return predictions;
}

}  // namespace levin
