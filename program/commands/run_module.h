#pragma once
#include <levin/program/cli/command.h>
#include <levin/program/config/run_options.h>

#include <string>
#include <vector>

namespace levin::cli {

/// True for "fit", "validate", "test" and "predict".
bool is_run_command(const std::string& command);

/// Throws UsageError if the config names no module.
void require_model(const RunOptions& options);

/// What a run takes besides the options of its config.
struct RunFlags {
  bool dry_run = false;                 ///< for "fit": run two batches of each loader and print what the fit would do
  std::vector<double> bandwidths = {};  ///< for a dry run: network bandwidths between ranks, in Gbit/s
  std::string output = {};              ///< for "predict": the file for the predictions; empty: none
  std::string ckpt_path = {};
  std::string command_line = {};   ///< as typed, without --ckpt-path
  KeptReferences references = {};  ///< of the config
};

/// Runs the module of the config that the words of a command line name, with --print-config only prints the config.
/// `flags` has the command's own flags, and gets the rest from the words. Returns the exit code: 0, the supervisor's if
/// it started ranks, or 128 + the signal that ended the run.
int run_module(const std::string& command, const Words& words, RunFlags flags = {});

}  // namespace levin::cli
