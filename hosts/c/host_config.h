#pragma once
#include <levin/hosts/c/c_api.h>
#include <levin/modules/lightning_module.h>
#include <levin/program/config/run_options.h>

#include <chrono>
#include <memory>

namespace levin::c {

/// Reads a host's config over the options of TrainerOptions::embedded; its plugins are loaded first. Throws
/// levin::UsageError with all problems, each with its place.
cli::Config read_config(const levin_config& config);
/// Returns how long ranks wait for each other by a config.
std::chrono::milliseconds timeout_of(const cli::Config& config);
/// Converts a host's config to options without ranks.
cli::ReadOptions read_host_config(const levin_config& config);

/// Makes the config's model. Its seed also determines the initial weights, as in `levin fit`; LibTorch's own random
/// numbers stay as they are. Throws levin::UsageError if the config names no model.
std::shared_ptr<LightningModule> make_model(const cli::ReadOptions& options);

}  // namespace levin::c
