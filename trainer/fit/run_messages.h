#pragma once
#include <levin/core/run/stage.h>
#include <levin/core/state/state.h>
#include <levin/trainer/launch/start_identity.h>

#include <filesystem>
#include <string>

namespace levin {

struct Placement;
class RunContext;
struct RunResult;

// Messages at the start of a run. Only rank 0 prints them, and only without the option `quiet`.

/// Warns of parts of the module that are in eval mode.
void warn_of_eval_mode(RunContext& run);

/// Warns, when a fit ends, of schedulers whose metric never came. Collective: all ranks call it.
void warn_of_absent_metrics(RunContext& run);

/// Prints devices, threads, strategy and precision of the fit. `from`: the checkpoint that the fit resumes from, if
/// any.
void print_start(RunContext& run, const Placement& placement, const std::string& from);

/// Returns how a fit ended, as one line: "fit completed: 2 epochs, 8 steps, 1.2 s".
std::string result_line(const RunResult& result);
/// Prints it.
void print_end(const RunContext& run, const RunResult& result);

/// Prints how the run's config differs from the checkpoint's, to show changes that were not intended.
void print_config_changes(const RunContext& run, const State& checkpoint);

/// Prints why a run that was asked to resume starts from the beginning. `runs`: the folder that was searched for
/// checkpoints.
void print_starts_over(const RunContext& run, const std::string& ckpt_path, const StartIdentity& start,
                       const std::filesystem::path& runs);

/// Prints which file the evaluated weights come from.
void print_weights_file(const RunContext& run, Stage stage, const std::filesystem::path& file);

}  // namespace levin
