#include <levin/program/main.h>
#include <c10/util/Logging.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/start_thread.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/cli/installed_prefix.h>
#include <levin/program/cli/load_plugin.h>
#include <levin/program/cli/shell_word.h>
#include <levin/program/cli/take_flag.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/predict_inputs.h>
#include <levin/program/commands/verify_resume.h>
#include <levin/program/config/without_effect.h>
#include <levin/trainer/launch/environment.h>
#include <levin/trainer/launch/supervisor.h>
#include <levin/trainer/tuner/finders.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <new>
#include <sstream>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace levin::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr const char* kHelp =
    R"(levin trains LibTorch models.

Usage: levin COMMAND [ARGUMENTS]

  fit, validate, test, predict --config FILE... [--FLAG VALUE...]
                    Run a module; `levin fit --help` shows the flags, with --config those of its classes too
  fit --dry-run     Try one batch of each loader and say what the fit would do; nothing is written
  launch --hosts a,b,c fit --config FILE...
                    Print the commands that train on several machines, or run them by ssh; `levin launch --help`
  compile --config FILE... --out step.pt2
                    Compile forward and backward of a config's training step, once, for fit --compiled-step step.pt2
  sweep --config FILE... --model.lr 1e-4:1e-1:log --trials 20
                    Train with many values of options, several at once, and show which are best; `levin sweep --help`
  export --config FILE... [--ckpt-path FILE] --out model.ts
                    Write a trained module for use elsewhere: TorchScript (.ts), weights (.pt, .safetensors), program (.pt2)
  verify-resume --config FILE... [--steps 20]
                    Prove that a run of this config can be stopped and continued: train so many steps, and again with
                    a stop in the middle, and compare everything
  profile --config FILE...
                    Measure what holds a run back, and what to change; `levin profile --help` says more
  config show       Print the resolved config of such a command line, as --print-config does
  config check      Print all that is wrong with it, or ok
  config explain    Print each value and where it comes from: a file's line, the environment, a flag, default
  config schema     Print the JSON Schema of a config, for editors
  config docs       Print the page that describes all options
  data inspect      Show what the loaders of a config's data give, and draw the first training batch
  data guess PATH   Look at a folder or a file of your own, say what it is, and write a config that trains on it
  --plugin FILE fit ...
                    Load a shared library first, whose callbacks, models, data and loggers a config then can name
  list KIND         Show models, data, transforms, optimizers, lr_schedulers, callbacks, loggers or profilers
  ls [FOLDER]       List runs: status, steps, best metric, age; also those that run, and those that were killed
  compare RUN RUN   Show how two runs differ, in config and metrics
  report RUN...     Write an HTML page that shows runs: curves, checkpoints, configs and their differences
  watch RUN         Show a run in the terminal until it ends: progress, curves, last values
  serve [FOLDER]    Show runs in a browser, and follow those that run
  gc FOLDER         Remove checkpoints that nobody will resume from, after asking
  rm RUN...         Remove runs, after asking
  ckpt ls           Show what a checkpoint or a file of weights holds; `levin ckpt --help` says more
  ckpt diff         Compare two, by name and by value
  ckpt verify       Say whether files are whole, by their checksums
  ckpt convert      Write one in another format or dtype, or its weights alone
  new FOLDER        Write a project that builds and trains: image, tabular, text, rl or embedded; `levin new --help`
  man [COMMAND]     Print the manual page of a command, or write all; `levin man --help`
  completion SHELL  Print a script that completes these words in bash, zsh or fish
  --version         Show the versions of levin, LibTorch, CUDA, NCCL and the compiler
  --cmake-prefix    Print where levin is installed, for CMAKE_PREFIX_PATH of a project that uses it
  --help            Show this text

Options come from config files, then LEVIN__SECTION__KEY in the environment, then flags; later ones win.
)";

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
void warn_without_effect(const CommandLine& line) {
  const std::optional<LaunchEnvironment> ranks = find_launch_environment();
  if (ranks && (ranks->rank != 0 || ranks->launcher == "levin")) return;
  const bool is_resumed = !line.flags.ckpt_path.empty();
  for (const std::string& text : options_without_effect(schema_of<RunOptions>(), line.config, is_resumed))
    console::warn(text);
}

int run_from_arguments(const std::string& command, const std::vector<std::string>& given) {
  const std::vector<std::string> arguments = command == "predict" ? with_predict_inputs(given) : given;
  const CommandLine line = read_command_line(schema_of<RunOptions>(), command, arguments);
  if (!line.flags.help.empty()) {
    std::cout << line.flags.help << std::flush;
    return 0;
  }
  const RunOptions options = read_run_options(line.config);
  if (line.flags.print_config) {
    std::cout << config_text(options, line.config) << std::flush;
    return 0;
  }
  if (command == "fit") warn_without_effect(line);
  return run_command(
      command, options,
      {line.flags.ckpt_path, line.flags.dry_run, line.flags.bandwidths,
       command_line_without_checkpoint(command, arguments), KeptReferences(line.config, options), line.flags.output});
}

int verify_from_arguments(std::vector<std::string> arguments) {
  constexpr int64_t kSteps = 20;
  const int64_t steps = take_count(arguments, "--steps", /*least=*/2).value_or(kSteps);
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "fit", arguments);
  if (!line.flags.help.empty()) {
    std::cout << line.flags.help << std::flush;
    return 0;
  }
  return verify_resume(std::cout, line.config, steps) ? 0 : kFailed;
}

/// Takes `--plugin FILE` from the beginning of the arguments, as often as it stands there, and loads the files.
void load_plugins(std::vector<std::string>& arguments) {
  while (!arguments.empty() && arguments[0] == "--plugin") {
    if (arguments.size() == 1) throw UsageError("--plugin: missing; name the file of the plugin");
    load_plugin(arguments[1]);
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
}

using Words = std::vector<std::string>;

/// Makes a command of a function that takes the words behind the command's name.
template <auto function>
int run_words(const std::string& /*command*/, const Words& words) {
  if constexpr (std::is_void_v<decltype(function(words))>) {
    function(words);
    return 0;
  } else {
    return function(words);
  }
}

constexpr std::pair<const char*, int (*)(const std::string& command, const Words& words)> kCommands[] = {
    {"fit", run_from_arguments},
    {"validate", run_from_arguments},
    {"test", run_from_arguments},
    {"predict", run_from_arguments},
    {"launch", run_words<launch_command>},
    {"compile", run_words<compile_command>},
    {"sweep", run_words<sweep_command>},
    {"export", run_words<export_command>},
    {"verify-resume", run_words<verify_from_arguments>},
    {"profile", run_words<profile_command>},
    {"config", run_words<config_command>},
    {"data", run_words<data_command>},
    {"ls", run_words<ls_command>},
    {"compare", run_words<compare_command>},
    {"report", run_words<report_command>},
    {"watch", run_words<watch_command>},
    {"serve", run_words<serve_command>},
    {"gc", run_words<gc_command>},
    {"rm", run_words<rm_command>},
    {"ckpt", run_words<ckpt_command>},
    {"list", run_words<list_command>},
    {"new", run_words<new_command>},
    {"man", run_words<man_command>},
    {"complete", run_words<complete_command>},
    {"completion", run_words<completion_command>}};

/// Keeps what is written to standard output while it lives.
class CapturedOutput {
 public:
  CapturedOutput() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~CapturedOutput() { std::cout.rdbuf(before_); }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_ = {};
  std::streambuf* before_;
};

}  // namespace

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto& [name, run] : kCommands)
    if (name != std::string("complete")) names.emplace_back(name);  // shells call it
  return names;
}

std::string program_help() { return kHelp; }

std::string help_of(const std::string& command) {
  const auto found = std::ranges::find(kCommands, command, [](const auto& entry) { return std::string(entry.first); });
  if (found == std::end(kCommands)) return {};
  const CapturedOutput output;
  try {
    found->second(command, command == "data" ? Words{"guess", "--help"} : Words{"--help"});
  } catch (const UsageError&) {
    return {};  // it has no help of its own
  }
  return output.text();
}

namespace {

int dispatch(const std::vector<std::string>& arguments) {
  raise_duplicate_registrations();
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    std::cout << kHelp << std::flush;
    return arguments.empty() ? kUsage : 0;
  }
  const std::string& command = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (command == "--version") {
    std::cout << version_text() << std::flush;
    return 0;
  }
  if (command == "--cmake-prefix") {
    std::cout << require_installed_prefix().string() << std::endl;
    return 0;
  }
  for (const auto& [name, run] : kCommands)
    if (command == name) return run(command, rest);
  const std::vector<std::string> names = command_names();
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  throw UsageError("no command '", command, "'", did_you_mean(command, names), "; there are: ", all);
}

/// Throws if standard output could not take what was written, as on a full disk. A reader that closed its pipe has
/// ended the process before, by SIGPIPE.
void check_output_was_written() {
  errno = 0;
  std::cout.flush();
  if (std::cout) return;
  const char* why = errno != 0 ? std::strerror(errno) : "a write failed";
  throw Error("standard output is incomplete: ", why, "; what the command did besides is done");
}

/// Says what the standard library's own exceptions leave out.
std::string told(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return "out of memory; smaller batches, fewer workers or a smaller model need less";
  const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
  if (of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again)
    return std::string(
               "the system starts no more processes and threads for this user, container or machine (ulimit -u, "
               "pids.max): ") +
           error.what();
  // "filesystem error: cannot rename: No space left on device [from] [to]"
  constexpr std::string_view kKind = "filesystem error: ";
  std::string text = message_of(error);
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&error) != nullptr && text.starts_with(kKind))
    text.erase(0, kKind.size());
  return text;
}

int fail(const std::exception& error, int code) {
  std::cout.flush();
  std::cerr << "levin: error: " << told(error) << std::endl;
  report_failure(error);
  return code;
}

std::terminate_handler g_terminate = nullptr;

/// Says why a library ends the process, if it is likely: LibTorch's communication does so where no thread can be
/// started.
[[noreturn]] void explain_end() {
  if (!can_start_threads(1))
    std::fputs(
        "levin: error: this process ends, since the system starts no more threads for this user, container or machine "
        "(ulimit -u, pids.max); checkpoints that were written are whole, and `--ckpt-path last` resumes from the "
        "newest\n",
        stderr);
  if (g_terminate != nullptr) g_terminate();
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  // c10d warns with twenty frames of each connection that is tried again; levin's own errors say what failed in the
  // end.
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = c10::GLOG_ERROR;
  g_terminate = std::set_terminate(explain_end);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond ulimit -f is an error of the write
  try {
    register_finders();
    std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    load_plugins(arguments);
    const int code = dispatch(arguments);
    check_output_was_written();
    return code;
  } catch (const UsageError& error) {
    return fail(error, kUsage);
  } catch (const std::exception& error) {
    return fail(error, kFailed);
  } catch (...) {
    return fail(Error("an exception that is no std::exception"), kFailed);
  }
}

}  // namespace levin::cli
