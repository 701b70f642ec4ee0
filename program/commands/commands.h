#pragma once
#include <levin/program/config/run_options.h>

#include <string>
#include <vector>

namespace levin::cli {

/// True for "fit", "validate", "test" and "predict".
bool is_run_command(const std::string& command);

/// The flags of fit, validate, test and predict that are not options of the config.
struct RunFlags {
  std::string ckpt_path = {};
  bool dry_run = false;                 ///< for "fit": run one batch of each loader and print what the fit would do
  std::vector<double> bandwidths = {};  ///< for a dry run: network bandwidths between ranks, in Gbit/s
  std::string command_line = {};        ///< as typed, without --ckpt-path
  KeptReferences references = {};       ///< of the config
  std::string output = {};              ///< for "predict": the file for the predictions; empty: none
};

/// Creates the module and the data of the config and passes them to a Trainer, for fit after the search of auto_lr_find
/// and auto_scale_batch_size. Prints the result on stdout. Returns the exit code: 0, the supervisor's if it started
/// ranks, or 128 + the signal that ended the run.
int run_command(const std::string& command, RunOptions options, RunFlags flags);

/// Throws UsageError if the config names no module.
void require_model(const RunOptions& options);

/// `levin config show|check|explain|schema|docs`.
void config_command(const std::vector<std::string>& arguments);

/// Returns the names of all commands, in the order of --help.
std::vector<std::string> command_names();

/// Returns the text of `levin --help`.
std::string program_help();
/// Returns the text of `levin COMMAND --help`, for data that of its subcommands that have one; empty if there is none.
std::string help_of(const std::string& command);
/// `levin man [COMMAND]`: prints a manual page, or writes all. Throws UsageError for wrong arguments.
void man_command(std::vector<std::string> arguments);

/// `levin complete WORD...`: prints what the last word, of which a part is typed, may become: a word, a tab and its
/// meaning on each line. Prints nothing if there is nothing to complete.
void complete_command(const std::vector<std::string>& arguments);
/// `levin completion bash|zsh|fish`: prints a script for a shell that completes the words of levin. Throws UsageError
/// for another shell.
void completion_command(const std::vector<std::string>& arguments);

/// Returns what `levin list` can list.
std::vector<std::string> list_kinds();
/// `levin list KIND`: prints the classes that a config can name. Throws UsageError for an unknown kind.
void list_command(const std::vector<std::string>& arguments);

/// `levin data guess FOLDER|FILE`: says what own data are, and writes a config that trains on them. Throws UsageError,
/// which says what to do, for wrong arguments and for data that nothing can be trained on.
void guess_command(std::vector<std::string> arguments);

/// `levin data guess` as above, or `levin data inspect`: prints what the loaders of a config's data give, and writes a
/// contact sheet of the first training batch. Works with every data module. Throws UsageError if the config names none.
void data_command(const std::vector<std::string>& arguments);

/// `levin ckpt ls|diff|verify|convert`: inspects and converts checkpoints and files of weights. Returns the exit code:
/// 1 if files differ or one is damaged. Throws UsageError for wrong arguments.
int ckpt_command(const std::vector<std::string>& arguments);

/// `levin ls [FOLDER]`: lists runs, `levin compare RUN RUN`: prints how two differ. Return the exit code. Throw
/// UsageError for wrong arguments.
int ls_command(std::vector<std::string> arguments);
int compare_command(std::vector<std::string> arguments);
int report_command(std::vector<std::string> arguments);
/// `levin watch RUN`: shows a run on standard output until it ends; returns 1 if it failed or was killed. `levin serve
/// FOLDER`: shows runs in a browser until a signal ends it. Throw UsageError for wrong arguments.
int watch_command(std::vector<std::string> arguments);
int serve_command(std::vector<std::string> arguments);
/// `levin gc FOLDER`: removes checkpoints that nobody will resume from, `levin rm RUN...`: removes runs. Both ask first
/// on std::cin, unless --yes is given. Return and throw as those above.
int gc_command(std::vector<std::string> arguments);
int rm_command(std::vector<std::string> arguments);

/// `levin launch --hosts a,b fit ...`: prints the commands that train on several machines, or runs them by ssh. Returns
/// the exit code. Throws UsageError for wrong arguments.
int launch_command(std::vector<std::string> arguments);

/// `levin sweep --config ... --model.lr 1e-4,1e-3`: trains with many values of options. Returns the exit code: 1 if no
/// trial has a value, 128 + the signal that ended it. Throws UsageError for wrong arguments and values that the config
/// refuses.
int sweep_command(std::vector<std::string> arguments);

/// `levin export --out model.ts`: writes a trained module as TorchScript, weights or a program. Returns the exit code.
/// Throws UsageError for wrong arguments, and for a module that TorchScript cannot follow.
int export_command(std::vector<std::string> arguments);

/// `levin compile --out step.pt2`: compiles the training step of a config with the help of Python. Returns the exit
/// code. Throws UsageError for wrong arguments, a step that cannot be compiled, and a Python that cannot do it.
int compile_command(std::vector<std::string> arguments);

/// `levin profile --config FILE...`: measures what holds a run of the config back, and what to change. Returns the exit
/// code: with --check 3 if there is something to change. Throws UsageError for wrong arguments, and what a fit throws.
int profile_command(std::vector<std::string> arguments);

/// `levin new FOLDER [--template NAME]`: writes a project that builds and trains. The folder appears whole or not at
/// all. Returns the exit code. Throws UsageError for wrong arguments, a name that no program can have, and a folder
/// that is not empty; levin::Error if a file cannot be written.
int new_command(std::vector<std::string> arguments);

/// Returns the versions of levin, LibTorch, CUDA, NCCL and the compiler, one line each.
std::string version_text();

}  // namespace levin::cli
