#include <levin/trainer/trainer.h>
#include <levin/modules/weights.h>
#include <levin/trainer/assembly/assembly.h>
#include <levin/trainer/assembly/launch_ranks.h>
#include <levin/trainer/assembly/run_folder.h>
#include <levin/trainer/assembly/run_messages.h>
#include <levin/trainer/checkpoint/apply_checkpoint.h>
#include <levin/trainer/checkpoint/find_checkpoint.h>
#include <levin/trainer/core/ranks/gather_states.h>
#include <levin/trainer/core/system/console.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/launch/start_identity.h>
#include <levin/trainer/launch/supervisor.h>
#include <levin/trainer/loops/fit_loop.h>
#include <levin/trainer/loops/predict_loop.h>

#include <atomic>
#include <nlohmann/json.hpp>

namespace levin {

/// The sources of the loaders of one call.
struct Trainer::Sources {
  std::optional<data::DataModuleRef> data_module = {};
  data::Loaders train = {}, evaluation = {};
  std::string ckpt_path = {};

  std::function<data::Loaders()> train_source(LightningModule& module) const {
    if (!train.empty()) return [this] { return train; };
    if (data_module) return [this] { return data_module->module->train_dataloader(); };
    return [&module] { return module.train_dataloader(); };
  }

  std::function<data::Loaders()> evaluation_source(LightningModule& module, Stage stage) const {
    if (!evaluation.empty()) return [this] { return evaluation; };
    // With training loaders only, validation runs only if the module has val_dataloader().
    switch (stage) {
      case Stage::Test:
        if (data_module) return [this] { return data_module->module->test_dataloader(); };
        return [&module] { return module.test_dataloader(); };
      case Stage::Predict:
        if (data_module) return [this] { return data_module->module->predict_dataloader(); };
        return [&module] { return module.predict_dataloader(); };
      default:
        if (data_module) return [this] { return data_module->module->val_dataloader(); };
        return [&module] { return module.val_dataloader(); };
    }
  }
};

namespace {

/// Returns whether the run has a folder: only if a logger or checkpoints write to it.
bool has_folder(const RunContext& run) {
  const TrainerOptions& options = run.options;
  return !run.trial && (options.logger.is_on() || *options.enable_checkpointing);
}

/// Opens the run's folder, writes config.json and creates the loggers. A fit that continues a run uses the folder of
/// `found`.
void open_run_folder(RunContext& run, FoundCheckpoint* found, const std::string& start) {
  if (!has_folder(run)) return;
  const TrainerOptions& options = run.options;
  const bool resumes = found != nullptr && found->continues_in_folder;
  if (run.is_rank_zero())
    run.run_folder = resumes ? RunFolder::resume(found->run_folder, std::move(found->lock), start)
                             : RunFolder::create(options.default_root_dir, options.name, start);
  const std::string path = text_of_rank_zero(run.run_folder.path().string(), run.comm());
  if (!run.is_rank_zero()) {
    run.run_folder = RunFolder::of_rank_zero(path, resumes);
    return;
  }
  run.run_folder.write_config(run.config.json);
  run.loggers = options.logger.make(run.run_folder.path());
  for (const auto& logger : run.loggers) logger->log_hyperparameters(run.config.hyperparameters);
}

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
  announce_checkpoint(parts.run, checkpoint.state, checkpoint.file.string());
  parts.place();
  apply_weights(parts.run, checkpoint.state, checkpoint.file.string());
}

std::filesystem::path runs_folder(const TrainerOptions& options) {
  return std::filesystem::path(options.default_root_dir) / options.name;
}

std::string config_of(const TrainerOptions& options) {
  const Json config = {{"trainer", schema_of<TrainerOptions>().get(&options)}};
  return config.dump(2) + "\n";
}

}  // namespace

Trainer::Trainer(TrainerOptions options) {
  std::vector<std::string> warnings;
  const TrainerOptions given = options;
  options_ = resolve(std::move(options), &warnings);
  placement_ = choose_placement(given, visible_gpus(), find_launch_environment());
  if (const std::optional<int> code = launch_ranks(given, placement_)) std::exit(*code);
  options_.strategy = placement_.strategy.name;
  if (placement_.environment && !given.distributed_backend) {
    TrainerOptions placed = given;  // a launcher makes it ddp if the options name no strategy
    placed.strategy = placement_.strategy.name;
    check_options(placed);
  }
  for (const std::string& warning : warnings) console::warn(warning);
}

std::unique_ptr<Trainer> Trainer::for_plan(TrainerOptions options) {
  const Placement placement = plan_placement(options, visible_gpus());
  const bool no_gpus = placement.planned && placement.devices.front().is_cpu();
  if (no_gpus) {
    options.accelerator = "cpu";
    options.gpus = {};
  }
  return std::unique_ptr<Trainer>(new Trainer(resolve(std::move(options)), placement, /*trials=*/false));
}

Trainer::Trainer(TrainerOptions resolved, Placement placement, bool trials)
    : options_(std::move(resolved)), placement_(std::move(placement)), trials_(trials) {}

std::unique_ptr<Trainer> Trainer::for_trials(const std::function<void(TrainerOptions&)>& change) const {
  TrainerOptions options = options_;
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

std::optional<FoundCheckpoint> Trainer::find_for_evaluation(const std::string& ckpt_path, Comm& comm) const {
  const CheckpointRequest request{.runs = runs_folder(options_), .ckpt_path = ckpt_path, .use = CheckpointUse::Weights};
  std::optional<FoundCheckpoint> found = find_checkpoint(request, comm);
  if (ckpt_path == "last" && !found)
    throw UsageError("ckpt_path \"last\": there is no checkpoint below ", request.runs.string());
  return found;
}

void Trainer::set_config_of(RunContext& run) const {
  run.config = config_;
  if (run.config.json.empty()) run.config.json = config_of(options_);
  if (run.config.hyperparameters.empty()) run.config.hyperparameters = run.module().hyperparameters();
}

RunResult Trainer::run_fit(ModuleRef module, const Sources& sources) {
  LightningModule& lightning_module = *module.module;
  refuse_untuned();
  fit_.reset();
  fit_ = std::make_shared<Assembly>(options_, placement_, ranks(), module, sources.data_module, Stage::Fit, trials_);
  Assembly& parts = *fit_;
  RunContext& run = parts.run;
  // The loader is made at its place in the order of hooks, or earlier if its size is needed.
  std::optional<data::Loaders> made_early;
  const auto make_train_loaders = [&run, given = sources.train_source(lightning_module)] {
    return ready_for_training(run, given());
  };
  const auto train_loaders = [&] {
    if (!made_early) return make_train_loaders();
    return *std::exchange(made_early, std::nullopt);
  };
  run.total_steps = [&] {
    if (!run.train_batches) {
      made_early = make_train_loaders();
      run.train_batches = batches_per_epoch(options_, RankedLoader((*made_early)[0], run.comm()));
    }
    const auto here = [&run](int64_t k) { return run.accumulation_on_these_ranks(k); };
    return estimated_steps(options_, *run.train_batches,
                           batches_of_step(run.counters.accumulate_grad_batches, run.callbacks, here));
  };
  RunResult result;
  const StartIdentity start = trials_ || placement_.planned ? StartIdentity() : start_of_next_fit();
  const auto end_failed = [&] {
    if (trials_) run.sink.reset_metrics();
    result = result_of(run);
    result.status = "failed";
    if (run.is_rank_zero()) write_summary(result, run.run_folder);
    // If the id is not unique, the folder is kept: a restart finds it before those of earlier starts with the same id.
    if (run.is_rank_zero() && run.counters.batches_seen == 0 && start.is_unique) run.run_folder.remove_if_bare();
    fit_.reset();
  };
  std::optional<FitLoop> loop;  // outlives an exception, after which a checkpoint may be saved
  // A restarted fit resumes from its own newest checkpoint.
  std::optional<FoundCheckpoint> found = find_checkpoint(
      {.runs = runs_folder(options_), .ckpt_path = sources.ckpt_path, .restarted = start.restarts > 0 ? start.id : ""},
      run.comm());
  if (!found) say_begins_anew(run, sources.ckpt_path, start, runs_folder(options_));
  try {
    parts.guarded([&] {
      parts.setup();
      run.configure_optimizers = [&] {
        if (found) parts.place();
        parts.configure_optimizers({.lr = tuned_.lr, .factor = tuned_.lr_factor});
      };
      if (found) announce_checkpoint(run, found->checkpoint.state, found->checkpoint.file.string());
      run.optimizers();
      set_config_of(run);
      // A restart, and a run that was cut off, still has to honor a saved stop request. A user who resumes a run that
      // ended in order wants it to train on.
      const bool goes_on =
          found && (found->is_own || (!found->run_folder.empty() && !ended_in_order(found->run_folder)));
      check_same_run(run);
      open_run_folder(run, found ? &*found : nullptr, start.id);
      const std::string from = found ? found->checkpoint.file.string() : "";
      if (found) {
        if (!found->continues_in_folder) run.resumed_file = std::filesystem::absolute(from);
        apply_checkpoint(run, found->checkpoint.state, from, goes_on);
        say_config_changes(run, found->checkpoint.state);
      }
      found.reset();
      say_start(run, placement_, from);
      loop.emplace(run, LoaderSource{train_loaders, sources.evaluation_source(lightning_module, Stage::Validate)});
      run.hooks.on_fit_start(run);
      loop->run();
      run.hooks.on_fit_end(run);
      run.save_if_asked();
      run.finish_saves();
      parts.teardown();
    });
  } catch (const LostRankError& error) {
    const LostRankError with_place(error.what(), place_in(run.counters));
    report_failure(with_place);
    write_newest_calls(*ranks_, run.run_folder.path());
    end_failed();
    throw with_place;
  } catch (const std::exception& error) {
    report_failure(error);
    end_failed();
    throw;
  } catch (...) {
    end_failed();
    throw;
  }
  result = result_of(run);
  for (const auto& logger : run.loggers) logger->finalize(result.status);
  if (!result.folder.empty() && run.is_rank_zero()) save_weights(lightning_module, result.folder / "weights.pt");
  if (run.is_rank_zero()) write_summary(result, run.run_folder);
  parts.end();
  return result;
}

void Trainer::save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) {
  if (!fit_) throw UsageError("Trainer::save_checkpoint: there was no fit yet, or it failed");
  RunContext& run = fit_->run;
  run.save_checkpoint(std::filesystem::absolute(path), std::move(how));
  if (!run.has_ended()) return;
  run.save_if_asked();
  run.finish_saves();
}

std::vector<Metrics> Trainer::run_evaluation(ModuleRef module, const Sources& sources, Stage stage) {
  Assembly parts(options_, placement_, ranks(), module, sources.data_module, stage);
  RunContext& run = parts.run;
  const std::optional<FoundCheckpoint> found = find_for_evaluation(sources.ckpt_path, parts.run.comm());
  if (found) say_weights(run, stage, found->checkpoint.file);
  parts.guarded([&] {
    parts.setup();
    if (found) load_for_evaluation(parts, found->checkpoint);
    EvaluationLoop loop(run, stage, sources.evaluation_source(*module.module, stage));
    loop.load();
    if (!loop.enabled())
      throw UsageError(to_string(stage), ": there is nothing to do: the module needs a ",
                       stage == Stage::Test ? "test" : "validation", "_step, and a loader must be given");
    loop.run();
    parts.teardown();
  });
  return run.sink.by_loader();
}

std::vector<std::vector<Batch>> Trainer::run_prediction(ModuleRef module, const Sources& sources) {
  Assembly parts(options_, placement_, ranks(), module, sources.data_module, Stage::Predict);
  std::vector<std::vector<Batch>> predictions;
  const std::optional<FoundCheckpoint> found = find_for_evaluation(sources.ckpt_path, parts.run.comm());
  if (found) say_weights(parts.run, Stage::Predict, found->checkpoint.file);
  parts.guarded([&] {
    parts.setup();
    if (found) load_for_evaluation(parts, found->checkpoint);
    const data::Loaders loaders = sources.evaluation_source(*module.module, Stage::Predict)();
    if (loaders.empty()) throw UsageError("predict: there is no loader; give one, or override predict_dataloader()");
    predictions = run_predict_loop(parts.run, loaders);
    parts.teardown();
  });
  return predictions;
}

}  // namespace levin
