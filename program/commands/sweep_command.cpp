#include <levin/core/options/metric_mode.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/cores.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/data/files/csv_cell.h>
#include <levin/data/remote/output_place.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/cli/load_plugin.h>
#include <levin/program/cli/report.h>
#include <levin/program/cli/text_table.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/run_module.h>
#include <levin/program/commands/swept_flags.h>
#include <levin/program/config/problems.h>
#include <levin/program/runs/report.h>
#include <levin/program/sweep/halving.h>
#include <levin/program/sweep/sweep.h>
#include <levin/program/sweep/sweep_method.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <sstream>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using sweep::SweepPlan, sweep::TrialRow;

constexpr size_t kMostMistakes = 10;
constexpr size_t kErrorWidth = 80;

struct SweepFlags {
  std::optional<Choice<SweepMethod>> method =
      LEVIN_OPTION(method, {},
                   "grid: all combinations; random: drawn; asha: drawn, and of the trials that have trained for a few "
                   "epochs the best "
                   "are continued (successive halving) [grid if --trials is missing, else random]");
  std::optional<int64_t> trials =
      LEVIN_OPTION(trials, {}, "Trials to draw. More of them continue a sweep that has ended", {.min = 1});
  std::optional<std::string> monitor =
      LEVIN_OPTION(monitor, {}, "The metric that decides [that of the config's ModelCheckpoint, else val_loss]");
  std::optional<Choice<MetricMode>> mode =
      LEVIN_OPTION(mode, {}, "min: lower is better; max: higher is better [that of the ModelCheckpoint, else min]");
  std::optional<int64_t> jobs =
      LEVIN_OPTION(jobs, {}, "Trials at once [one for each GPU of --on-gpus, else 1]", {.min = 1});
  std::optional<int64_t> cores = LEVIN_OPTION(cores, {}, "Cores for all of them [those of this process]", {.min = 1});
  std::string on_gpus = LEVIN_OPTION(
      on_gpus, "", "GPUs, of which each trial gets one: 0,1,2; or several: 0+1,2+3; unset: no GPU is assigned");
  std::optional<int64_t> grace_epochs =
      LEVIN_OPTION(grace_epochs, {}, "asha: epochs that every trial gets [1]", {.min = 1});
  std::optional<int64_t> reduction_factor =
      LEVIN_OPTION(reduction_factor, {},
                   "asha: of this number of trials one is continued, for this many times the epochs [3]", {.min = 2});
  bool retry_failed = LEVIN_OPTION(retry_failed, false, "Start trials again that have failed");
  std::string folder = LEVIN_OPTION(folder, "sweep", "Where the sweep is written");
};

std::vector<std::string> split_list(const std::string& flag, const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    if (part.empty() || part.find_first_not_of("0123456789+") != std::string::npos)
      throw UsageError(flag, ": expected numbers of GPUs, such as 0,1 or 0+1,2+3, got ", text);
    std::ranges::replace(part, '+', ',');
    parts.push_back(part);
  }
  if (parts.empty()) throw UsageError(flag, ": expected numbers of GPUs, such as 0,1");
  return parts;
}

/// A config as a trial's fit reads it.
struct TrialConfig {
  CommandLine line;
  ReadOptions options;
};

TrialConfig read_trial(const std::vector<std::string>& arguments) {
  CommandLine line = read_command_line(schema_of<RunOptions>(), "fit", arguments);
  ReadOptions options = read_run_options(line.config);
  require_model(options);
  return {std::move(line), std::move(options)};
}

/// Throws UsageError if the fits would leave nothing to compare, or could not be continued.
void check_options(const TrialConfig& read) {
  const TrainerOptions& trainer = read.options.trainer;
  if (!read.line.flags.ckpt_path.empty())
    throw UsageError("levin sweep: --ckpt-path: trials begin at their beginning; leave it out");
  for (const auto& [is_set, name] : {std::pair(read.line.flags.print_config, "--print-config"),
                                     std::pair(static_cast<bool>(trainer.fast_dev_run), "--fast-dev-run"),
                                     std::pair(trainer.barebones, "--barebones")})
    if (is_set) throw UsageError("levin sweep: ", name, ": such a fit writes nothing to compare; leave it out");
  const std::vector<std::string> files = trainer.logger.files();
  if (trainer.logger.is_on() && (std::ranges::find(files, "metrics.csv") != files.end() ||
                                 std::ranges::find(files, "metrics.jsonl") != files.end()))
    return;
  throw UsageError("trainer.logger: a sweep reads the metrics of its trials; add CSVLogger or JSONLinesLogger");
}

/// Returns the monitor of the config's ModelCheckpoint, else val_loss.
runs::Monitor monitor_of(const ReadOptions& options) {
  const Json config = resolved_config(options);
  for (const Json& callback : config.at("trainer").at("callbacks"))
    if (const std::optional<runs::Monitor> monitor = runs::monitor_of(callback)) return *monitor;
  return {"val_loss"};
}

void check_flags(const SweepFlags& flags, SweepMethod method) {
  if (method == SweepMethod::Grid && flags.trials)
    throw UsageError("--trials: a grid has all combinations; leave it out, or choose --method random");
  if (method != SweepMethod::Grid && !flags.trials) throw UsageError("--trials: missing; say how many to draw");
  if (method != SweepMethod::Asha && (flags.grace_epochs || flags.reduction_factor))
    throw UsageError(flags.grace_epochs ? "--grace-epochs" : "--reduction-factor", ": only --method asha has rungs");
  if (flags.cores && *flags.cores > cores_of_process())
    throw UsageError("--cores: expected at most ", cores_of_process(), ", the cores of this process, got ",
                     *flags.cores);
}

std::vector<int64_t> rungs_of(const SweepFlags& flags, const TrainerOptions& trainer) {
  const int64_t epochs = trainer.max_epochs.value_or(-1), grace = flags.grace_epochs.value_or(1);
  if (epochs < 1) throw UsageError("--method asha: --max-epochs is missing, the epochs of the trials that run longest");
  if (grace > epochs) throw UsageError("--grace-epochs: expected at most --max-epochs, ", epochs, ", got ", grace);
  if (trainer.min_epochs.value_or(0) > grace || trainer.min_steps.value_or(0) > 0)
    throw UsageError("--method asha ends trials early, and min_epochs and min_steps forbid it; leave these out");
  const int64_t factor = flags.reduction_factor.value_or(3);
  if (*flags.trials < factor)
    throw UsageError("--method asha: of ", *flags.trials, " trials none is continued; ask for ", factor,
                     " --trials or more");
  return sweep::rung_epochs(grace, epochs, factor);
}

/// Throws UsageError with what the config refuses in any trial.
void check_trials(const SweptFlags& swept, const std::vector<sweep::Assignment>& trials) {
  std::vector<std::string> mistakes;
  for (const sweep::Assignment& trial : trials) {
    try {
      read_trial(swept.with(trial));
    } catch (const UsageError& error) {
      std::string where;
      for (size_t i = 0; i < trial.size(); ++i)
        where += (i == 0 ? "" : ", ") + swept.parameters[i].name() + "=" + trial[i];
      mistakes.push_back("with " + where + ": " + error.what());
      if (mistakes.size() == kMostMistakes) break;
    }
  }
  throw_problems(mistakes);
}

SweepPlan make_plan(const SweptFlags& swept, const SweepFlags& flags) {
  sweep::Assignment first;
  for (const sweep::Parameter& parameter : swept.parameters) first.push_back(parameter.bounds()[0]);
  const TrialConfig base = read_trial(swept.with(first));
  check_options(base);
  const Choice<SweepMethod> method = flags.method.value_or(flags.trials ? SweepMethod::Random : SweepMethod::Grid);
  check_flags(flags, method);
  require_local("--folder", flags.folder);
  SweepPlan plan{.folder = flags.folder, .monitor = monitor_of(base.options), .retries_failed = flags.retry_failed};
  if (flags.monitor)
    plan.monitor = {*flags.monitor, plan.monitor.metric == *flags.monitor ? plan.monitor.mode : MetricMode::Min};
  if (flags.mode) plan.monitor.mode = *flags.mode;
  const int64_t seed = base.options.seed.value_or(base.options.trainer.seed.value_or(0));
  plan.trials =
      method == SweepMethod::Grid ? sweep::grid(swept.parameters) : sweep::draw(swept.parameters, *flags.trials, seed);
  if (!flags.on_gpus.empty()) plan.gpus = split_list("--on-gpus", flags.on_gpus);
  plan.jobs = flags.jobs.value_or(std::max<int64_t>(1, static_cast<int64_t>(plan.gpus.size())));
  plan.cores = flags.cores.value_or(cores_of_process());
  plan.identity = {{"levin_sweep", 1}, {"method", method.word()}, {"parameters", Json(swept.texts)}};
  if (method != SweepMethod::Grid) plan.identity["seed"] = seed;
  if (method == SweepMethod::Asha) {
    plan.rungs = rungs_of(flags, base.options.trainer);
    plan.reduction_factor = flags.reduction_factor.value_or(3);
    plan.identity.update({{"monitor", plan.monitor.metric},
                          {"mode", Choice(plan.monitor.mode).word()},
                          {"epochs", plan.rungs},
                          {"reduction_factor", plan.reduction_factor}});
  }
  plan.identity["config"] = Json::parse(config_text(base.options, base.line.config));
  check_trials(swept, plan.trials);
  plan.words = [&swept, trials = plan.trials, folder = plan.folder](size_t trial) {
    std::vector<std::string> words = plugin_flags();
    words.emplace_back("fit");
    for (std::string& word : swept.with(trials[trial])) words.push_back(std::move(word));
    words.push_back("--default-root-dir=" + folder.string());
    words.push_back("--name=" + sweep::trial_folder("", trial).string());
    return words;
  };
  return plan;
}

std::string value_text(const TrialRow& row) {
  if (row.value) return short_number(*row.value);
  return "-";
}

std::string cut(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  if (text.size() > kErrorWidth) text = text.substr(0, kErrorWidth - 3) + "...";
  return text;
}

void print_rows(const std::vector<TrialRow>& rows, const SweepPlan& plan, const SweptFlags& swept) {
  const bool has_errors = std::ranges::any_of(rows, [](const TrialRow& row) { return !row.error.empty(); });
  Table table = {{"TRIAL", "STATUS", "EPOCHS", plan.monitor.metric}};
  for (const sweep::Parameter& parameter : swept.parameters) table[0].push_back(parameter.name());
  if (has_errors) table[0].emplace_back("ERROR");
  for (const TrialRow& row : rows) {
    table.push_back({std::to_string(row.trial), row.status, std::to_string(row.epochs), value_text(row)});
    for (const std::string& text : plan.trials[static_cast<size_t>(row.trial)]) table.back().push_back(text);
    if (has_errors) table.back().push_back(cut(row.error));
  }
  print_table(std::cout, table);
}

void write_csv(const std::vector<TrialRow>& rows, const SweepPlan& plan, const SweptFlags& swept) {
  std::string text = "trial,status,epochs," + data::csv_cell(plan.monitor.metric) + ",step";
  for (const sweep::Parameter& parameter : swept.parameters) text += "," + data::csv_cell(parameter.name());
  text += ",error\n";
  for (const TrialRow& row : rows) {
    text += std::to_string(row.trial) + "," + row.status + "," + std::to_string(row.epochs) + "," +
            (row.value ? Json(*row.value).dump() : "") + "," + (row.value ? std::to_string(row.step) : "");
    for (const std::string& value : plan.trials[static_cast<size_t>(row.trial)]) text += "," + data::csv_cell(value);
    text += "," + data::csv_cell(row.error) + "\n";
  }
  write_text_file_atomically(plan.folder / "trials.csv", text);
}

void write_report(const std::vector<TrialRow>& rows, const SweepPlan& plan) {
  std::vector<runs::RecordedRun> all;
  for (const TrialRow& row : rows)
    if (!row.run_folder.empty()) all.push_back(runs::read_run(row.run_folder));
  write_text_file_atomically(plan.folder / "report.html", runs::report_html(all));
}

/// Writes the files of a sweep that has ended; returns whether one trial is the best.
bool conclude(const std::vector<TrialRow>& rows, const SweepPlan& plan, const SweptFlags& swept) {
  print_rows(rows, plan, swept);
  write_csv(rows, plan, swept);
  write_report(rows, plan);
  std::cout << "report: " << (plan.folder / "report.html").string() << "\n";
  const TrialRow& best = rows.front();
  if (!best.value) {
    std::cout << "no trial has a value of " << plan.monitor.metric << std::endl;
    return false;
  }
  const TrialConfig config = read_trial(swept.with(plan.trials[static_cast<size_t>(best.trial)]));
  write_text_file_atomically(plan.folder / "best.json", config_text(config.options, config.line.config));
  std::cout << "best: trial " << best.trial << ", " << plan.monitor.metric << " " << short_number(*best.value)
            << " (step " << best.step << "), " << best.run_folder.string() << "\n"
            << "its config: " << (plan.folder / "best.json").string() << std::endl;
  return true;
}

int run_sweep_command(const SweepFlags& flags, const Words& words) {
  const SweptFlags swept = find_swept_flags(schema_of<RunOptions>(), words);
  const SweepPlan plan = make_plan(swept, flags);
  if (swept.parameters.empty())
    throw UsageError(
        "levin sweep: no option has several values; give one some, such as --model.lr 1e-4,1e-3 or 1e-4:1e-1:log");
  if (flags.trials && static_cast<int64_t>(plan.trials.size()) < *flags.trials)
    std::cout << "there are no more than " << plan.trials.size() << " different trials\n";
  std::cout << "sweep: " << plan.trials.size() << " trials, " << plan.jobs << " at once, in " << plan.folder.string()
            << "; " << plan.monitor.metric << ", the " << (plan.monitor.mode == MetricMode::Max ? "higher" : "lower")
            << " the better" << std::endl;
  const SignalGuard guard({{SIGTERM, SignalAction::Stop}, {SIGINT, SignalAction::Stop}});
  const std::vector<TrialRow> rows = sweep::run_sweep(plan, std::cout);
  if (received_signal() != 0) {
    print_rows(rows, plan, swept);
    std::cout << "stopped by " << signal_name(received_signal()) << "; the same command resumes it" << std::endl;
    return 128 + received_signal();
  }
  return conclude(rows, plan, swept) ? 0 : 1;
}

}  // namespace

Command sweep_command() {
  return make_command(
      {.name = "sweep",
       .summary = "Train with many values of options, several trials at once, and show which are best",
       .usage = "--OPTION VALUES...",
       .about =
           R"(VALUES of an option: 1e-4,1e-3,1e-2  64:512  1e-4:1e-1:log  with :N the points of a grid, 64:512:log:4; for an
option that takes a list: 32|64,64.

Each trial is a run in a process of its own, in FOLDER/trial_<n>; its output is in FOLDER/logs. The same command resumes
a sweep that was stopped or killed. At the end there are FOLDER/trials.csv, FOLDER/best.json (the config of the best
trial, for levin fit) and FOLDER/report.html.)",
       .rest = Rest::FitFlags,
       .values = {{"trials", "N"},
                  {"monitor", "NAME"},
                  {"jobs", "N"},
                  {"cores", "N"},
                  {"on_gpus", "LIST"},
                  {"grace_epochs", "N"},
                  {"reduction_factor", "N"},
                  {"folder", "FOLDER"}}},
      run_sweep_command);
}

}  // namespace levin::cli
