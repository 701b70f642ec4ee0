#include <levin/trainer/trainer.h>
#include <ATen/Parallel.h>
#include <levin/modules/weights.h>
#include <levin/trainer/assembly.h>
#include <levin/trainer/checkpoint/checkpoint_files.h>
#include <levin/trainer/core/console.h>
#include <levin/trainer/core/cores.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/gather_states.h>
#include <levin/trainer/core/state_file.h>
#include <levin/trainer/launch/supervisor.h>
#include <levin/trainer/launch_ranks.h>
#include <levin/trainer/loggers/run_folder.h>
#include <levin/trainer/loops/checkpoint_state.h>
#include <levin/trainer/loops/fit_loop.h>
#include <levin/trainer/loops/predict_loop.h>

#include <nlohmann/json.hpp>

namespace levin {

/// Where the loaders of a call come from.
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
    // Loaders for training alone: nothing is validated, unless the module brings validation itself.
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

/// The folder with its config.json, and the loggers; nothing for runs that leave nothing behind. A run that goes on
/// from a checkpoint in `continued` goes on there.
void open_run_folder(RunContext& run, const std::filesystem::path& continued) {
  const TrainerOptions& options = run.options;
  if (options.fast_dev_run || options.barebones || run.trial) return;
  run.continued_folder = !continued.empty();
  run.run_folder = continued;
  if (run.run_folder.empty() && run.is_rank_zero())
    run.run_folder = create_run_folder(options.default_root_dir, options.name).lexically_normal();
  run.run_folder = text_of_rank_zero(run.run_folder.string(), run.comm());
  if (!run.is_rank_zero()) return;
  std::filesystem::remove(run.run_folder / "summary.json");  // of the session before: this one may be killed
  write_text_file_atomically(run.run_folder / "config.json", run.config);
  run.loggers = options.logger.make(run.run_folder);
  for (const auto& logger : run.loggers) logger->log_hyperparameters(run.module().hyperparameters());
}

std::string counted(int64_t number, const char* noun) { return c10::str(number, " ", noun, number == 1 ? "" : "s"); }

void say_start(RunContext& run, const Placement& placement) {
  if (run.options.barebones || run.trial || !run.is_rank_zero()) return;
  std::string line = c10::str("fit on ", run.strategy.where(), ", ", counted(at::get_num_threads(), "compute thread"),
                              " on ", counted(cores_of_process(), "core"), ", strategy ", run.strategy.name(), " (",
                              placement.strategy.why, ")");
  if (run.options.precision != Precision()) line += std::string(", precision ") + run.precision.name();
  if (!run.run_folder.empty()) line += ", run folder " + run.run_folder.string();
  if (run.resumed)
    line += c10::str(", goes on after ", counted(run.counters.global_step, "step"), " and ",
                     counted(run.counters.epoch, "epoch"));
  console::info(line);
}

/// The weights alone, in a module that may first give its parameters their sizes.
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
    TrainerOptions placed = given;  // a launcher makes it ddp where the options say nothing
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

std::optional<ReadCheckpoint> Trainer::read_checkpoint(const std::string& ckpt_path, Comm& comm) const {
  if (ckpt_path.empty()) return {};
  if (ckpt_path != "last" && ckpt_path != "best") return ReadCheckpoint{ckpt_path, load_state(ckpt_path)};
  const std::filesystem::path runs = runs_folder(options_);
  // Which it is, one rank says: another may see files that come and go.
  std::optional<ReadCheckpoint> newest;
  if (comm.rank() == 0) newest = newest_checkpoint(runs);
  const std::string file = text_of_rank_zero(newest ? newest->file.string() : "", comm);
  if (!newest && !file.empty()) newest = ReadCheckpoint{file, load_state(file)};
  if (ckpt_path == "last") return newest;
  if (!newest) throw UsageError("ckpt_path \"best\": there is no checkpoint below ", runs.string());
  const std::filesystem::path best = best_model_path(*newest);
  return ReadCheckpoint{best, load_state(best)};
}

std::optional<ReadCheckpoint> Trainer::read_for_evaluation(const std::string& ckpt_path, Comm& comm) const {
  std::optional<ReadCheckpoint> found = read_checkpoint(ckpt_path, comm);
  if (ckpt_path == "last" && !found)
    throw UsageError("ckpt_path \"last\": there is no checkpoint below ", runs_folder(options_).string());
  return found;
}

RunResult Trainer::run_fit(ModuleRef module, const Sources& sources) {
  LightningModule& lightning_module = *module.module;
  refuse_untuned();
  fit_.reset();
  fit_ = std::make_shared<Assembly>(options_, placement_, ranks(), module, sources.data_module, Stage::Fit, trials_);
  Assembly& parts = *fit_;
  RunContext& run = parts.run;
  // The loader is made at its place in the order of hooks, or earlier where somebody must know its size.
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
  const auto end_failed = [&] {
    if (trials_) run.sink.reset_metrics();
    result = result_of(run);
    result.status = "failed";
    if (run.is_rank_zero()) write_summary(result);
    fit_.reset();
  };
  std::optional<FitLoop> loop;  // outlives an exception: a checkpoint may be saved then
  // Ranks that were started again go on where they were.
  const bool restarted = placement_.environment && placement_.environment->restarts > 0;
  const std::string ckpt_path = restarted && sources.ckpt_path.empty() ? "last" : sources.ckpt_path;
  std::optional<ReadCheckpoint> checkpoint = read_checkpoint(ckpt_path, run.comm());
  if (ckpt_path == "last" && !checkpoint && run.is_rank_zero())
    console::info(c10::str("ckpt_path \"last\": there is no checkpoint below ", runs_folder(options_).string(),
                           "; the run begins anew"));
  try {
    parts.guarded([&] {
      parts.setup();
      run.configure_optimizers = [&] {
        if (checkpoint) parts.place();
        parts.configure_optimizers({.lr = tuned_.lr, .factor = tuned_.lr_factor});
      };
      if (checkpoint) announce_checkpoint(run, checkpoint->state, checkpoint->file.string());
      run.optimizers();
      run.config = config_.empty() ? config_of(options_) : config_;
      const std::filesystem::path written_by =
          checkpoint ? run_folder_of(checkpoint->file, runs_folder(options_)) : std::filesystem::path();
      const bool goes_on = !written_by.empty() && !ended_in_order(written_by);
      check_same_run(run);
      open_run_folder(run, ckpt_path == "last" ? written_by : std::filesystem::path());
      if (checkpoint) apply_checkpoint(run, checkpoint->state, checkpoint->file.string(), goes_on);
      checkpoint.reset();
      say_start(run, placement_);
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
    write_newest_calls(*ranks_, run.run_folder);
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
  if (run.is_rank_zero()) write_summary(result);
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
  const std::optional<ReadCheckpoint> checkpoint = read_for_evaluation(sources.ckpt_path, parts.run.comm());
  parts.guarded([&] {
    parts.setup();
    if (checkpoint) load_for_evaluation(parts, *checkpoint);
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
  const std::optional<ReadCheckpoint> checkpoint = read_for_evaluation(sources.ckpt_path, parts.run.comm());
  parts.guarded([&] {
    parts.setup();
    if (checkpoint) load_for_evaluation(parts, *checkpoint);
    const data::Loaders loaders = sources.evaluation_source(*module.module, Stage::Predict)();
    if (loaders.empty()) throw UsageError("predict: there is no loader; give one, or override predict_dataloader()");
    predictions = run_predict_loop(parts.run, loaders);
    parts.teardown();
  });
  return predictions;
}

}  // namespace levin
