#include <levin/trainer/trainer.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <levin/callbacks/model_checkpoint.h>
#include <levin/callbacks/model_summary.h>
#include <levin/callbacks/on_exception_checkpoint.h>
#include <levin/callbacks/progress_bar.h>
#include <levin/modules/channels_last.h>
#include <levin/modules/weights.h>
#include <levin/trainer/checkpoint/checkpoint_files.h>
#include <levin/trainer/core/console.h>
#include <levin/trainer/core/cores.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/heap.h>
#include <levin/trainer/core/rng_guard.h>
#include <levin/trainer/core/state_file.h>
#include <levin/trainer/core/torch_settings.h>
#include <levin/trainer/loggers/run_folder.h>
#include <levin/trainer/loggers/run_summary.h>
#include <levin/trainer/loops/checkpoint_state.h>
#include <levin/trainer/loops/fit_loop.h>
#include <levin/trainer/loops/predict_loop.h>
#include <levin/trainer/strategies/single_device.h>

#include <algorithm>
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

/// Callbacks that watch metrics see the train epoch's end after the module, which may log there.
constexpr Hook kHookOfMonitors = Hook::on_train_epoch_end;

}  // namespace

/// All parts of one call of fit, validate, test or predict, put together; destroyed in the reverse order.
class Trainer::Assembly {
 public:
  Assembly(const TrainerOptions& options, ModuleRef module, const std::optional<data::DataModuleRef>& data_module,
           Stage stage)
      : module_(*module.module),
        stage_(stage),
        settings_(std::in_place, TorchSettings::Options{.deterministic = options.deterministic,
                                                        .benchmark = options.benchmark,
                                                        .detect_anomaly = options.detect_anomaly,
                                                        .flush_denormal = options.flush_denormal,
                                                        .num_threads = options.num_threads}),
        run(options, module, data_module, strategy_, precision_, stage) {
    if (options.keep_freed_memory) heap_.emplace();
    if (options.seed) {
      generator_as_before_.emplace();
      at::manual_seed(static_cast<uint64_t>(*options.seed));
    }
    run.sink.set_enabled(!options.barebones);
    for (const CallbackEntry& entry : options.callbacks)
      if (*options.enable_checkpointing || !saves_checkpoints(entry)) add(entry);
    if (*options.enable_progress_bar && !has<ProgressBar>()) add(ProgressBar());
    if (*options.enable_model_summary && !has<ModelSummary>()) add(ModelSummary());
    for (const CallbackEntry& entry : module_.configure_callbacks()) add(entry);
    if (stage == Stage::Fit && *options.enable_checkpointing && !has<ModelCheckpoint>())
      add(ModelCheckpoint({.save_last = true}));
    run.hooks.add(module_, module.overrides.hooks);
    for (const CallbackEntry& entry : run.callbacks)
      if (entry.callback->is_monitoring()) run.hooks.add(*entry.callback, entry.hooks.only(kHookOfMonitors));
  }

  void setup() {
    if (data::DataModule* data = run.data_module()) data->prepare_data();
    module_.prepare_data();
    if (data::DataModule* data = run.data_module()) data->setup(stage_);
    run.hooks.setup(run);
    module_.configure_model();
    precision_.convert_module(module_);
    strategy_.place(module_);
    if (run.options.memory_format == "channels_last") to_channels_last(module_);
  }

  void configure_optimizers() {
    OptimizerConfig config = module_.configure_optimizers();
    for (OptimizerEntry& entry : config.entries) run.optimizer_list.push_back(entry.optimizer);
    if (run.optimizer_list.empty())
      console::warn("configure_optimizers returned no optimizer: the parameters will not change");
    strategy_.attach(run.optimizer_list);
    for (OptimizerEntry& entry : config.entries) {
      if (!entry.scheduler) continue;
      run.scheduler_list.push_back(entry.scheduler->bind(*entry.optimizer, {.total_steps = run.total_steps}));
      run.scheduler_configs.push_back(entry.scheduler->config);
    }
  }

  void teardown() {
    if (data::DataModule* data = run.data_module()) data->teardown(stage_);
    run.hooks.teardown(run);
  }

  /// Puts back what the run has changed outside of itself; what a checkpoint needs of it stays.
  void end() {
    run.end();
    generator_as_before_.reset();
    heap_.reset();
    settings_.reset();
  }

  /// Runs `body`; where it throws, on_exception is called and the loggers are closed before the exception goes on.
  void guarded(const std::function<void()>& body) {
    try {
      body();
    } catch (const std::exception& error) {
      failed(error);
      throw;
    } catch (...) {
      failed(Error("an exception that is no std::exception"));
      throw;
    }
  }

 private:
  void add(const CallbackEntry& entry) {
    run.callbacks.push_back(entry);
    run.hooks.add(*entry.callback,
                  entry.callback->is_monitoring() ? entry.hooks.without(kHookOfMonitors) : entry.hooks);
  }

  /// fast_dev_run leaves such callbacks out.
  static bool saves_checkpoints(const CallbackEntry& entry) {
    return dynamic_cast<const ModelCheckpoint*>(entry.callback.get()) != nullptr ||
           dynamic_cast<const OnExceptionCheckpoint*>(entry.callback.get()) != nullptr;
  }

  template <class C>
  bool has() const {
    return std::any_of(run.callbacks.begin(), run.callbacks.end(), [](const CallbackEntry& entry) {
      return dynamic_cast<const C*>(entry.callback.get()) != nullptr;
    });
  }

  void failed(const std::exception& error) {
    run.leave_loop();
    try {
      run.hooks.on_exception(run, error);
      run.save_after_exception();
    } catch (const std::exception& second) {
      console::warn(std::string("on_exception threw as well: ") + second.what());
    }
    for (const auto& logger : run.loggers) logger->finalize("failed");
  }

  LightningModule& module_;
  Stage stage_;
  std::optional<TorchSettings> settings_;
  std::optional<KeptHeap> heap_ = {};
  SingleDeviceStrategy strategy_{c10::Device(c10::kCPU)};
  FullPrecision precision_;
  std::optional<RngGuard> generator_as_before_ = {};

 public:
  RunContext run;
};

namespace {

/// The folder with its config.json, and the loggers; nothing for runs that leave nothing behind. A run that goes on
/// from a checkpoint in `continued` goes on there.
void open_run_folder(RunContext& run, const std::filesystem::path& continued) {
  const TrainerOptions& options = run.options;
  if (options.fast_dev_run || options.barebones) return;
  run.continued_folder = !continued.empty();
  run.run_folder =
      run.continued_folder ? continued : create_run_folder(options.default_root_dir, options.name).lexically_normal();
  std::filesystem::remove(run.run_folder / "summary.json");  // of the session before: this one may be killed
  write_text_file_atomically(run.run_folder / "config.json", run.config);
  run.loggers = options.logger.make(run.run_folder);
  for (const auto& logger : run.loggers) logger->log_hyperparameters(run.module().hyperparameters());
}

std::string counted(int64_t number, const char* noun) { return c10::str(number, " ", noun, number == 1 ? "" : "s"); }

void say_start(RunContext& run) {
  if (run.options.barebones) return;
  std::string line = c10::str("fit on ", run.device(), ", ", counted(at::get_num_threads(), "compute thread"), " on ",
                              counted(cores_of_process(), "core"), ", strategy ", run.strategy.name(), " (one device)");
  if (!run.run_folder.empty()) line += ", run folder " + run.run_folder.string();
  if (run.resumed)
    line += c10::str(", goes on after ", counted(run.counters.global_step, "step"), " and ",
                     counted(run.counters.epoch, "epoch"));
  console::info(line);
}

/// The first ModelCheckpoint that knows a best one; without any, the first that has saved.
const ModelCheckpoint* best_checkpoint_of(const RunContext& run) {
  const ModelCheckpoint* found = nullptr;
  for (const CallbackEntry& entry : run.callbacks) {
    const auto* one = dynamic_cast<const ModelCheckpoint*>(entry.callback.get());
    if (one != nullptr && one->best_model_score()) return one;
    if (one != nullptr && found == nullptr && !one->best_model_path().empty()) found = one;
  }
  return found;
}

RunResult result_of(const RunContext& run) {
  const TrainerState& counters = run.counters;
  const ModelCheckpoint* best = best_checkpoint_of(run);
  return {.status = run.stop_reason ? "stopped" : "completed",
          .stop_reason = run.stop_reason.value_or(""),
          .epochs = counters.epoch + (counters.batch_in_epoch > 0),
          .global_step = counters.global_step,
          .wall_seconds = run.wall_seconds(),
          .metrics = run.metrics(),
          .best_checkpoint = best ? best->best_model_path() : std::filesystem::path(),
          .best_score = best ? best->best_model_score() : std::nullopt,
          .folder = run.run_folder};
}

void write_summary(const RunResult& result) {
  if (result.folder.empty()) return;
  write_run_summary(result.folder,
                    {.status = result.status,
                     .epochs = result.epochs,
                     .global_step = result.global_step,
                     .wall_seconds = result.wall_seconds,
                     .metrics = result.metrics,
                     .best_checkpoint =
                         result.best_checkpoint.empty() ? std::nullopt : std::optional(result.best_checkpoint.string()),
                     .best_score = result.best_score});
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
  options_ = resolve(std::move(options), &warnings);
  for (const std::string& warning : warnings) console::warn(warning);
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

std::optional<ReadCheckpoint> Trainer::read_checkpoint(const std::string& ckpt_path) const {
  if (ckpt_path.empty()) return {};
  if (ckpt_path != "last" && ckpt_path != "best") return ReadCheckpoint{ckpt_path, load_state(ckpt_path)};
  const std::filesystem::path runs = runs_folder(options_);
  std::optional<ReadCheckpoint> newest = newest_checkpoint(runs);
  if (ckpt_path == "last") return newest;
  if (!newest) throw UsageError("ckpt_path \"best\": there is no checkpoint below ", runs.string());
  const std::filesystem::path best = best_model_path(*newest);
  return ReadCheckpoint{best, load_state(best)};
}

std::optional<ReadCheckpoint> Trainer::read_for_evaluation(const std::string& ckpt_path) const {
  std::optional<ReadCheckpoint> found = read_checkpoint(ckpt_path);
  if (ckpt_path == "last" && !found)
    throw UsageError("ckpt_path \"last\": there is no checkpoint below ", runs_folder(options_).string());
  return found;
}

RunResult Trainer::run_fit(ModuleRef module, const Sources& sources) {
  LightningModule& lightning_module = *module.module;
  fit_.reset();
  fit_ = std::make_shared<Assembly>(options_, module, sources.data_module, Stage::Fit);
  Assembly& parts = *fit_;
  RunContext& run = parts.run;
  // The loader is made at its place in the order of hooks, or earlier where somebody must know its size.
  std::optional<data::Loaders> made_early;
  const auto make_train_loaders = sources.train_source(lightning_module);
  const auto train_loaders = [&] {
    if (!made_early) return make_train_loaders();
    return *std::exchange(made_early, std::nullopt);
  };
  run.total_steps = [&, steps = std::optional<std::optional<int64_t>>()]() mutable {
    if (!steps) {
      made_early = make_train_loaders();
      steps = estimated_steps(options_, batches_per_epoch(options_, *made_early));
    }
    return *steps;
  };
  RunResult result;
  std::optional<FitLoop> loop;  // outlives an exception: a checkpoint may be saved then
  std::optional<ReadCheckpoint> checkpoint = read_checkpoint(sources.ckpt_path);
  if (sources.ckpt_path == "last" && !checkpoint)
    console::info(c10::str("ckpt_path \"last\": there is no checkpoint below ", runs_folder(options_).string(),
                           "; the run begins anew"));
  try {
    parts.guarded([&] {
      parts.setup();
      parts.configure_optimizers();
      run.config = config_.empty() ? config_of(options_) : config_;
      const std::filesystem::path written_by =
          checkpoint ? run_folder_of(checkpoint->file, runs_folder(options_)) : std::filesystem::path();
      const bool goes_on = !written_by.empty() && !ended_in_order(written_by);
      open_run_folder(run, sources.ckpt_path == "last" ? written_by : std::filesystem::path());
      if (checkpoint) apply_checkpoint(run, checkpoint->state, checkpoint->file.string(), goes_on);
      checkpoint.reset();
      say_start(run);
      loop.emplace(run, LoaderSource{train_loaders, sources.evaluation_source(lightning_module, Stage::Validate)});
      run.hooks.on_fit_start(run);
      loop->run();
      run.hooks.on_fit_end(run);
      run.save_if_asked();
      run.finish_saves();
      parts.teardown();
    });
  } catch (...) {
    result = result_of(run);
    result.status = "failed";
    write_summary(result);
    fit_.reset();
    throw;
  }
  result = result_of(run);
  for (const auto& logger : run.loggers) logger->finalize(result.status);
  if (!result.folder.empty()) save_weights(lightning_module, result.folder / "weights.pt");
  write_summary(result);
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
  Assembly parts(options_, module, sources.data_module, stage);
  RunContext& run = parts.run;
  const std::optional<ReadCheckpoint> checkpoint = read_for_evaluation(sources.ckpt_path);
  parts.guarded([&] {
    parts.setup();
    if (checkpoint) apply_weights(run, checkpoint->state, checkpoint->file.string());
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
  Assembly parts(options_, module, sources.data_module, Stage::Predict);
  std::vector<std::vector<Batch>> predictions;
  const std::optional<ReadCheckpoint> checkpoint = read_for_evaluation(sources.ckpt_path);
  parts.guarded([&] {
    parts.setup();
    if (checkpoint) apply_weights(parts.run, checkpoint->state, checkpoint->file.string());
    const data::Loaders loaders = sources.evaluation_source(*module.module, Stage::Predict)();
    if (loaders.empty()) throw UsageError("predict: there is no loader; give one, or override predict_dataloader()");
    predictions = run_predict_loop(parts.run, loaders);
    parts.teardown();
  });
  return predictions;
}

}  // namespace levin
