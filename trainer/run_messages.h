#pragma once
#include <levin/trainer/core/stage.h>
#include <levin/trainer/core/state.h>
#include <levin/trainer/launch/start_identity.h>

#include <filesystem>
#include <string>

namespace levin {

struct Placement;
class RunContext;

// What a run says of its beginning, on rank 0; nothing where the options want it quiet.

/// Where the fit computes, and as what. `from`: the checkpoint that it resumes from, if any.
void say_start(RunContext& run, const Placement& placement, const std::string& from);

/// How the run's config differs from the checkpoint's. Changes that were made on purpose are known; others are seen
/// here.
void say_config_changes(const RunContext& run, const State& checkpoint);

/// Why a run that was asked to resume begins anew; `runs` is the folder in which it has looked for checkpoints.
void say_begins_anew(const RunContext& run, const std::string& ckpt_path, const StartIdentity& start,
                     const std::filesystem::path& runs);

/// Whose weights are evaluated.
void say_weights(const RunContext& run, Stage stage, const std::filesystem::path& file);

}  // namespace levin
