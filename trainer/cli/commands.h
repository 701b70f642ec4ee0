#pragma once
#include <levin/trainer/cli/run_options.h>

#include <string>
#include <vector>

namespace levin::cli {

/// "fit", "validate", "test" and "predict".
bool is_run_command(const std::string& command);

/// What the flags of fit, validate, test and predict say beside the options.
struct RunFlags {
  std::string ckpt_path = {};
  bool dry_run = false;                 ///< for "fit": runs one batch of each loader and says what the fit would do
  std::vector<double> bandwidths = {};  ///< for a dry run: Gbit/s between ranks
  std::string command_line = {};        ///< as it was typed, without --ckpt-path
  KeptReferences references = {};       ///< of the config
  std::string output = {};              ///< for "predict": the file that gets the predictions; empty: none
};

/// Makes the module and the data that the config chooses and hands them to a Trainer, for fit after the search that
/// auto_lr_find and auto_scale_batch_size ask for; prints what came of it on stdout.
/// Returns the exit code: 0, or 128 + the signal that ended the run.
int run_command(const std::string& command, RunOptions options, RunFlags flags);

/// Throws UsageError where the config names no module.
void require_model(const RunOptions& options);

/// `levin config show|check|explain|schema|docs`.
void config_command(const std::vector<std::string>& arguments);

/// `levin list KIND`: the classes that a config can name. Throws UsageError for another kind.
void list_command(const std::vector<std::string>& arguments);

/// `levin data inspect`: prints what the loaders of a config's data give, and writes a contact sheet of the first
/// training batch. Works with every data module; throws UsageError where the config names none.
void data_command(const std::vector<std::string>& arguments);

/// `levin ckpt ls|diff|verify|convert`: looks at checkpoints and files of weights, and converts them. Returns the exit
/// code: 1 where files differ, or one is damaged. Throws UsageError for wrong arguments.
int ckpt_command(const std::vector<std::string>& arguments);

/// `levin launch --hosts a,b fit ...`: prints the commands that train on several machines, or runs them by ssh. Returns
/// the exit code. Throws UsageError for wrong arguments.
int launch_command(std::vector<std::string> arguments);

/// levin, LibTorch, CUDA, NCCL and the compiler, a line each.
std::string version_text();

}  // namespace levin::cli
