#include <ATen/Context.h>
#include <fcntl.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/data/data_module.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/handle_signals.h>
#include <levin/program/commands/profile_apply.h>
#include <levin/program/commands/run_module.h>
#include <levin/program/profile/profile.h>
#include <levin/trainer/fit/launch_ranks.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::cli {
namespace {

constexpr int kFound = 3;

struct ProfileFlags {
  ProfileOptions options = {};
  bool json = LEVIN_OPTION(json, false, "Print the report as JSON");
  bool check = LEVIN_OPTION(check, false, "Exit with 3 if there is something to change");
  bool apply = LEVIN_OPTION(apply, false, "Write the advice that leaves learning as it is into the config files");
};

/// While it lives, stdout and stderr lead nowhere: bars and messages of the trials are no one's.
class MutedOutput {
 public:
  MutedOutput() {
    std::cout.flush();
    std::cerr.flush();
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      before_[stream] = ::fcntl(stream, F_DUPFD_CLOEXEC, 3);
      if (nowhere >= 0 && before_[stream] >= 0) ::dup2(nowhere, stream);
    }
    if (nowhere >= 0) ::close(nowhere);
  }
  ~MutedOutput() {
    std::cout.flush();
    std::cerr.flush();
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      if (before_[stream] < 0) continue;
      ::dup2(before_[stream], stream);
      ::close(before_[stream]);
    }
  }
  MutedOutput(const MutedOutput&) = delete;
  MutedOutput& operator=(const MutedOutput&) = delete;

  /// Writes a line to the terminal that stderr is; nothing if it is none.
  void say(const std::string& line) const {
    const int terminal = before_[STDERR_FILENO];
    if (terminal < 0 || ::isatty(terminal) == 0) return;
    const std::string text = "levin profile: " + line + "\n";
    if (::write(terminal, text.data(), text.size()) < 0) return;  // only progress
  }

 private:
  int before_[3] = {-1, -1, -1};
};

ProfileSubject subject_of(const RunOptions& options) {
  // The values, not what --print-config shows: a fit of the trial resolves them.
  const Json config = schema_of<RunOptions>().get(&options);
  return {.config = config.dump(), .make = [](const std::string& changed) {
            Json given = Json::parse(changed);
            for (const char* section : {"model", "data"})
              if (given[section].is_null()) given.erase(section);
            RunOptions made;
            schema_of<RunOptions>().set(&made, "", given);
            if (made.seed) made.trainer.seed = made.seed;
            check_options(made.trainer);
            if (made.trainer.seed) at::manual_seed(static_cast<uint64_t>(*made.trainer.seed));
            return ProfileParts{.trainer = made.trainer,
                                .module = made.model.make("model"),
                                .data = made.data ? made.data.make("data") : nullptr};
          }};
}

void apply(const CommandLine& line, const std::vector<std::string>& arguments, const ProfileReport& report) {
  const AppliedAdvice applied = apply_advice(report.advice, line.files, line.config, [&] {
    read_run_options(read_command_line(schema_of<RunOptions>(), "fit", arguments).config);
  });
  std::cout << "\n";
  for (const std::string& text : applied.written) std::cout << "Written to " << text << "\n";
  for (const std::string& text : applied.left) std::cout << "Not written: " << text << "\n";
}

int run_profile(const ProfileFlags& given, const Words& words) {
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "fit", words);
  if (!line.flags.ckpt_path.empty())
    throw UsageError("--ckpt-path: profile measures the beginning of a run; leave it out");
  if (given.apply && given.json)
    throw UsageError("--apply: it prints what was written, which is no JSON; leave --json out");
  if (given.apply && line.files.empty())
    throw UsageError("--apply: there is no config file to write into; give one with --config");
  const ReadOptions options = read_run_options(line.config);
  require_model(options);
  const Placement placement = place_here(options.resolved);
  if (given.check && (placement.needs_supervisor() || placement.environment))
    throw UsageError("--check: the exit code of several ranks says whether they ran; read --json in its place");
  TrainerOptions of_launch = options.trainer;
  // So that the output of ranks goes into no folder of the runs.
  of_launch.logger = false;
  of_launch.callbacks = {};
  of_launch.enable_checkpointing = false;
  of_launch.quiet = !of_launch.enable_progress_bar.value_or(false) && !of_launch.enable_model_summary.value_or(false);
  if (const std::optional<int> code = launch_ranks(resolve(of_launch), placement)) return *code;
  const SignalGuard guard(signal_actions(options.trainer));
  ProfileReport report;
  try {
    const MutedOutput muted;
    ProfileOptions how = given.options;
    how.progress = [&](const std::string& text) { muted.say(text); };
    report = profile_run(subject_of(options), how);
  } catch (const Error& error) {
    if (received_signal() == 0) throw;
    std::cerr << "levin: " << error.what() << "\n";
    return 128 + received_signal();
  }
  if (placement.environment && placement.environment->rank != 0) return 0;
  std::cout << (given.json ? report.to_json() : report.to_text()) << std::flush;
  if (given.apply) apply(line, words, report);
  return given.check && !report.is_clean() ? kFound : 0;
}

}  // namespace

Command profile_command() {
  return make_command(
      {.name = "profile",
       .summary = "Measure what holds a run back, and what to change",
       .about =
           R"(Each change is tried in short fits of new modules and data, in turn with unchanged ones; what is printed is the
median of their ratios. Nothing stays behind: logs and checkpoints of the trials go into a temporary folder beside the
runs.)",
       .rest = Rest::FitFlags},
      run_profile);
}

}  // namespace levin::cli
