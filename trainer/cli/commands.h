#pragma once
#include <levin/trainer/cli/run_options.h>

#include <string>
#include <vector>

namespace levin::cli {

/// "fit", "validate", "test" and "predict".
bool is_run_command(const std::string& command);

/// Makes the module and the data that the config chooses and hands them to a Trainer; prints what came of it on stdout.
/// Returns the exit code: 0, or 128 + the signal that ended the run.
int run_command(const std::string& command, const RunOptions& options);

/// `levin list KIND`: the classes that a config can name. Throws UsageError for another kind.
void list_command(const std::vector<std::string>& arguments);

/// levin, LibTorch, CUDA, NCCL and the compiler, a line each.
std::string version_text();

}  // namespace levin::cli
