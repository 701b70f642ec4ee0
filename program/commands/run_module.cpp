#include <levin/program/commands/run_module.h>
#include <ATen/Context.h>
#include <levin/core/system/console.h>
#include <levin/core/system/signals.h>
#include <levin/core/system/slurm.h>
#include <levin/core/system/url_credentials.h>
#include <levin/data/data_module.h>
#include <levin/data/learned_state.h>
#include <levin/modules/trained_weights.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/cli/load_plugin.h>
#include <levin/program/cli/report.h>
#include <levin/program/cli/shell_word.h>
#include <levin/program/commands/dry_run.h>
#include <levin/program/commands/fit_view.h>
#include <levin/program/commands/handle_signals.h>
#include <levin/program/commands/prediction_file.h>
#include <levin/program/commands/tune_config.h>
#include <levin/program/config/without_effect.h>
#include <levin/program/sweep/stop_after_epochs.h>
#include <levin/program/sweep/trial_process.h>
#include <levin/trainer/fit/launch_ranks.h>
#include <levin/trainer/launch/environment.h>
#include <levin/trainer/trainer.h>
#include <levin/trainer/trainer_impl.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::cli {
namespace {

/// Calls `with_data` if the config names data, else `alone` (the module has its own loaders).
template <class WithData, class Alone>
auto dispatch(const std::shared_ptr<data::DataModule>& data, WithData with_data, Alone alone) {
  return data ? with_data(*data) : alone();
}

void predict(std::ostream& out, Trainer& trainer, LightningModule& module,
             const std::shared_ptr<data::DataModule>& data, const RunFlags& flags) {
  const std::string& from = flags.ckpt_path;
  const std::vector<std::vector<Batch>> predictions = dispatch(
      data, [&](data::DataModule& d) { return trainer.predict(module, d, from); },
      [&] { return trainer.predict(module, {}, from); });
  print_predictions(out, predictions);
  if (flags.output.empty()) return;
  PredictionFile(flags.output).write(predictions, predicted_samples(data.get()));
  out << "predictions written to " << flags.output << std::endl;
}

/// Throws before anything is predicted if the predictions could not be written.
void check_output(const RunFlags& flags, const Placement& placement) {
  if (flags.output.empty()) return;
  const PredictionFile file(flags.output);
  if (placement.needs_supervisor() || (placement.environment && placement.environment->world_size > 1))
    throw UsageError("--output: each rank of ", placement.strategy.name,
                     " predicts a part of the samples; predict on one device, or under dp");
}

void run(const std::string& command, Trainer& trainer, LightningModule& module,
         const std::shared_ptr<data::DataModule>& data, const RunFlags& flags) {
  using data::DataModule;
  const std::string& from = flags.ckpt_path;
  std::ostream nowhere(nullptr);
  std::ostream& out = trainer.is_global_zero() ? std::cout : nowhere;
  if (command == "fit") {
    const RunResult result = dispatch(
        data, [&](DataModule& d) { return trainer.fit(module, d, from); },
        [&] { return trainer.fit(module, {}, {}, from); });
    if (!flags.dry_run) print_result(out, result);
  } else if (command == "validate") {
    print_metrics(out, command,
                  dispatch(
                      data, [&](DataModule& d) { return trainer.validate(module, d, from); },
                      [&] { return trainer.validate(module, {}, from); }));
  } else if (command == "test") {
    print_metrics(out, command,
                  dispatch(
                      data, [&](DataModule& d) { return trainer.test(module, d, from); },
                      [&] { return trainer.test(module, {}, from); }));
  } else {
    predict(out, trainer, module, data, flags);
  }
}

/// Returns whether the module reads weights: those of the option `weights`, or a program's or a script's.
bool reads_weights(const RunOptions& options) {
  const Json model = options_of_model(options);
  return std::ranges::any_of(std::array{"weights", "program", "file"}, [&](const char* key) {
    const auto found = model.find(key);
    return found != model.end() && !found->is_null() && *found != "";
  });
}

/// Prints that a signal ended the run and how to continue it: by its folder, because another run may be the newest by
/// then.
void say_stopped(const HandleSignals& signals, const std::string& command_line) {
  std::cerr << "levin: stopped by " << signal_name(received_signal());
  if (!signals.saved().empty())
    std::cerr << ", saved " << signals.saved().string() << "; continue with: " << without_credentials(command_line)
              << " --ckpt-path " << shell_word(signals.run_folder().string());
  std::cerr << std::endl;
}

/// Returns the command line without --ckpt-path, for a message that appends another one.
std::string command_line_without_checkpoint(const std::string& command, const std::vector<std::string>& arguments) {
  std::string line = "levin";
  for (const std::string& word : plugin_flags()) line += " " + shell_word(word);
  line += " " + command;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--ckpt-path") {
      ++i;  // its value
      continue;
    }
    if (arguments[i].rfind("--ckpt-path=", 0) == 0) continue;
    line += " " + shell_word(arguments[i]);
  }
  return line;
}

/// Warns of options without effect on the fit; only one process warns if several ranks are started.
void warn_without_effect(const CommandLine& line, const ReadOptions& options) {
  const std::optional<LaunchEnvironment> ranks = find_launch_environment();
  if (ranks && (ranks->rank != 0 || ranks->launcher == "levin")) return;
  const bool is_resumed = !line.flags.ckpt_path.empty();
  for (const std::string& text : options_without_effect(line.config, options, is_resumed)) console::warn(text);
}

}  // namespace

bool is_run_command(const std::string& command) {
  return command == "fit" || command == "validate" || command == "test" || command == "predict";
}

void require_model(const RunOptions& options) {
  if (!options.model)
    throw UsageError("model.class: missing; name the module with --model.class (`levin list models` shows them)");
}

namespace {

/// Creates the module and the data of the config and passes them to a Trainer, for fit after the search of auto_lr_find
/// and auto_scale_batch_size. Prints the result on stdout. Returns the exit code: 0, the supervisor's if it started
/// ranks, or 128 + the signal that ended the run.
int run_with_options(const std::string& command, ReadOptions options, const RunFlags& flags) {
  require_model(options);
  // Before the module and the data are created: the supervisor of ranks needs neither.
  const bool dry_run = flags.dry_run;
  Placement placement;
  if (!dry_run) {
    placement = place_here(options.resolved);
    check_output(flags, placement);
    if (const std::optional<int> code = launch_ranks(options.resolved, placement)) return *code;
  }
  const SignalGuard guard(signal_actions(options.trainer));
  if (command == "fit" && !dry_run && asks_for_tuning(options.trainer)) {
    try {
      options = tune_config(std::move(options), flags.ckpt_path);
    } catch (const Error& error) {
      if (received_signal() == 0) throw;
      std::cerr << "levin: " << error.what() << "\n";
      return 128 + received_signal();
    }
  }
  // As in PyTorch Lightning, the seed also determines the module's initial weights.
  if (options.trainer.seed) at::manual_seed(static_cast<uint64_t>(*options.trainer.seed));
  const auto module = options.model.make("model");
  const auto data = options.data ? options.data.make("data") : nullptr;
  // Without a checkpoint, what is evaluated are the weights of the model's own file.
  if (const std::string weights = weights_of_model(options);
      data && command != "fit" && flags.ckpt_path.empty() && !weights.empty())
    data::use_learned_section(*data, learned_from_data_in(weights), weights);
  const bool saves = options.resolved.saves_checkpoints() && !dry_run;
  const auto signals = std::make_shared<HandleSignals>(command == "fit", saves, options.trainer.handle_signals);
  const auto findings = std::make_shared<DryRunFindings>();
  std::unique_ptr<Trainer> made;
  if (dry_run) {
    TrainerOptions of_dry_run = dry_run_options(options.trainer);
    of_dry_run.callbacks.push_back(std::make_shared<DryRun>(findings, options.resolved));
    of_dry_run.callbacks.push_back(signals);
    made = Trainer::Impl::for_dry_run(std::move(of_dry_run));
  } else {
    std::vector<CallbackEntry> own = {signals};
    if (const auto rung = sweep::StopAfterEpochs::of_environment(); rung && command == "fit") own.emplace_back(rung);
    if (const auto tell = TellRunFolder::of_environment(); tell && command == "fit") own.emplace_back(tell);
    made = Trainer::Impl::make({options.resolved.with_callbacks(own), std::move(placement)});
  }
  Trainer& trainer = *made;
  Trainer::Impl::of(trainer).prints_end = false;
  if (command != "fit" && flags.ckpt_path.empty() && trainer.is_global_zero() && !reads_weights(options))
    console::warn(command + ": no --ckpt-path is given, so the weights are those that " + options.model.class_name() +
                  " is made with, untrained unless it reads some itself");
  Trainer::Impl::of(trainer).config = flags.references.config_of_run(options, module->hyperparameters());
  try {
    run(command, trainer, *module, data, flags);
    if (dry_run && trainer.is_global_zero()) print_dry_run(std::cout, *findings, options.resolved, flags.bandwidths);
  } catch (const Interrupted& interrupted) {
    std::cerr << "levin: " << interrupted.what() << "\n";
  }
  if (received_signal() == 0) {
    if (command == "fit" && trainer.is_global_zero()) sweep::mark_end_of_trial();
    return 0;
  }
  if (command == "fit" && trainer.is_global_zero()) say_stopped(*signals, flags.command_line);
  if (requeue_is_asked() && (!trainer.is_global_zero() || slurm_requeue())) return 0;
  return 128 + received_signal();
}

}  // namespace

int run_module(const std::string& command, const Words& words, RunFlags flags) {
  const CommandLine line = read_command_line(schema_of<RunOptions>(), command, words);
  ReadOptions options = read_run_options(line.config);
  if (line.flags.print_config) {
    std::cout << config_text(options, line.config);
    return 0;
  }
  if (command == "fit") warn_without_effect(line, options);
  flags.ckpt_path = line.flags.ckpt_path;
  flags.command_line = command_line_without_checkpoint(command, words);
  flags.references = KeptReferences(line.config, options);
  return run_with_options(command, std::move(options), flags);
}

}  // namespace levin::cli
