#include <levin/trainer/trainer.h>
#include <levin/callbacks/before_fit.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/trainer/fit/assembly.h>
#include <levin/trainer/fit/fit_session.h>
#include <levin/trainer/fit/launch_ranks.h>
#include <levin/trainer/fit/run_messages.h>
#include <levin/trainer/launch/start_identity.h>
#include <levin/trainer/loops/evaluation_loop.h>
#include <levin/trainer/loops/predict_loop.h>
#include <levin/trainer/resume/apply_checkpoint.h>
#include <levin/trainer/run/run_inputs.h>
#include <levin/trainer/run_folder/find_checkpoint.h>
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

Trainer::Trainer(TrainerOptions given)
    : Trainer{resolve(given), choose_placement(given, visible_gpus(), find_launch_environment()), /*trials=*/false} {
  if (const std::optional<int> code = launch_ranks(given, placement_)) std::exit(*code);
  options_.strategy = placement_.strategy.name();
  if (placement_.environment && !given.distributed_backend) {
    given.strategy = placement_.strategy.name();  // a launcher makes it ddp if the options name no strategy
    check_options(given);
  }
  if (!options_.print_warnings) return;  // then each run has them
  for (const std::string& warning : options_.warnings()) console::warn(warning);
}

std::unique_ptr<Trainer> Trainer::for_dry_run(TrainerOptions options) {
  const Placement placement = placement_for_dry_run(options, visible_gpus());
  const bool no_gpus = placement.is_dry_run && placement.devices.front().is_cpu();
  if (no_gpus) {
    options.accelerator = "cpu";
    options.gpus = {};
    options.output_device = {};
  }
  return std::unique_ptr<Trainer>(new Trainer(resolve(std::move(options)), placement, /*trials=*/false));
}

Trainer::Trainer(ResolvedOptions options, Placement placement, bool trials)
    : options_(std::move(options)), placement_(std::move(placement)), trials_(trials) {}

std::unique_ptr<Trainer> Trainer::for_trials(const std::function<void(TrainerOptions&)>& change) const {
  ResolvedOptions options = options_;
  options.logger = false;
  options.callbacks = {};
  options.enable_checkpointing = options.enable_progress_bar = options.enable_model_summary = false;
  options.max_time = {};
  options.min_epochs = options.min_steps = {};
  options.log_every_n_steps = 0;
  options.num_sanity_val_steps = 0;
  options.auto_lr_find = false;
  options.auto_scale_batch_size = {};
  options.scale_lr = {};
  options.profiler = {};
  change(options);
  return std::unique_ptr<Trainer>(new Trainer(std::move(options), placement_, /*trials=*/true));
}

ProcessGroup* Trainer::ranks() {
  if (placement_.strategy.has_ranks() && !ranks_) ranks_ = join_ranks(placement_, options_);
  return ranks_.get();
}

void Trainer::refuse_untuned() const {
  const auto refuse = [](const char* option, const char* what) {
    throw UsageError("trainer.", option, ": fit itself looks for no ", what,
                     "; call levin::tune(trainer, module, data) before fit, or leave ", option, " unset");
  };
  if (options_.auto_scale_batch_size && !tuned_.batch_size) refuse("auto_scale_batch_size", "batch size");
  if (options_.auto_lr_find && !tuned_.lr_found) refuse("auto_lr_find", "learning rate");
}

RunResult Trainer::fit(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path) {
  return run_fit(module, {.data_module = data, .ckpt_path = ckpt_path});
}
RunResult Trainer::fit(ModuleRef module, data::Loaders train, data::Loaders validation, const std::string& ckpt_path) {
  return run_fit(module, {.train = std::move(train), .evaluation = std::move(validation), .ckpt_path = ckpt_path});
}

std::vector<Metrics> Trainer::validate(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path) {
  return run_evaluation(module, {.data_module = data, .ckpt_path = ckpt_path}, Stage::Validate);
}
std::vector<Metrics> Trainer::validate(ModuleRef module, data::Loaders loaders, const std::string& ckpt_path) {
  return run_evaluation(module, {.evaluation = std::move(loaders), .ckpt_path = ckpt_path}, Stage::Validate);
}
std::vector<Metrics> Trainer::test(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path) {
  return run_evaluation(module, {.data_module = data, .ckpt_path = ckpt_path}, Stage::Test);
}
std::vector<Metrics> Trainer::test(ModuleRef module, data::Loaders loaders, const std::string& ckpt_path) {
  return run_evaluation(module, {.evaluation = std::move(loaders), .ckpt_path = ckpt_path}, Stage::Test);
}

std::vector<std::vector<Batch>> Trainer::predict(ModuleRef module, data::DataModuleRef data,
                                                 const std::string& ckpt_path) {
  return run_prediction(module, {.data_module = data, .ckpt_path = ckpt_path});
}
std::vector<std::vector<Batch>> Trainer::predict(ModuleRef module, data::Loaders loaders,
                                                 const std::string& ckpt_path) {
  return run_prediction(module, {.evaluation = std::move(loaders), .ckpt_path = ckpt_path});
}

std::optional<FoundCheckpoint> Trainer::find_for_evaluation(const std::string& ckpt_path, RunContext& run) const {
  const CheckpointRequest request{.runs = options_.runs_folder(),
                                  .ckpt_path = ckpt_path,
                                  .use = CheckpointUse::Weights,
                                  .lazily = run.parts.strategy.shards_parameters()};
  std::optional<FoundCheckpoint> found = find_checkpoint(request, run.comm());
  if (ckpt_path == "last" && !found)
    throw UsageError("ckpt_path \"last\": there is no checkpoint below ", request.runs.string());
  return found;
}

void Trainer::prepare(const ModuleRef& module, const RunInputs& inputs) {
  for (const CallbackEntry& entry : options_.callbacks)
    if (auto* const one = dynamic_cast<BeforeFit*>(entry.callback.get())) one->before_fit(*this, module, inputs);
}

RunResult Trainer::run_fit(ModuleRef module, const RunInputs& inputs) {
  refuse_untuned();
  if (!trials_ && !placement_.is_dry_run) prepare(module, inputs);
  fit_.reset();
  fit_ = std::make_shared<Assembly>(options_, placement_, ranks(), module, inputs.data_module, Stage::Fit, trials_);
  const RunScope scope = fit_->scope();
  try {
    FitSession session(*fit_, {.inputs = inputs,
                               .config = config_,
                               .found_rate = {.lr = tuned_.lr, .factor = tuned_.lr_factor},
                               .start = trials_ || placement_.is_dry_run ? StartIdentity() : start_of_next_fit(),
                               .runs = options_.runs_folder(),
                               .prints_end = prints_end_});
    session.begin();
    session.train();
    RunResult result = session.end();
    profile_ = result.profile;
    return result;
  } catch (...) {
    fit_.reset();
    throw;
  }
}

Session Trainer::start(ModuleRef module, SessionOptions options) {
  refuse_untuned();
  if (options_.mesh.tensor > 1)
    throw UsageError("trainer.mesh.tensor: a session runs without tensor parallelism; set mesh.tensor to 1");
  ranks();
  return Session({.options = options_,
                  .placement = placement_,
                  .ranks = ranks_,
                  .module = module,
                  .config = config_,
                  .found_rate = {.lr = tuned_.lr, .factor = tuned_.lr_factor},
                  .start = placement_.is_dry_run ? StartIdentity() : start_of_next_fit(),
                  .session = std::move(options)});
}

void Trainer::save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) {
  if (!fit_) throw UsageError("Trainer::save_checkpoint: there was no fit yet, or it failed");
  RunContext& run = fit_->run();
  run.check_module_exists("Trainer::save_checkpoint");
  run.view.save_checkpoint(std::filesystem::absolute(path), std::move(how));
  if (!run.has_ended()) return;
  run.saves.save_if_asked();
  run.saves.finish();
}

std::vector<Metrics> Trainer::run_evaluation(ModuleRef module, const RunInputs& inputs, Stage stage) {
  Assembly parts(options_, placement_, ranks(), module, inputs.data_module, stage);
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
  profile_ = parts.profile();
  return run.state.sink.by_loader();
}

std::vector<std::vector<Batch>> Trainer::run_prediction(ModuleRef module, const RunInputs& inputs) {
  Assembly parts(options_, placement_, ranks(), module, inputs.data_module, Stage::Predict);
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
  profile_ = parts.profile();
  return predictions;
}

}  // namespace levin
