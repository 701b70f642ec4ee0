#pragma once
#include <levin/program/config/run_options.h>

#include <string>
#include <vector>

namespace levin::cli {

/// Returns a sentence for each option that was set but has no effect because of other ones: "--model.optimizer.lr has
/// no effect: OneCycleLR takes its rates from model.lr_scheduler.max_lr". An option that a config file sets to its
/// default, as a resolved config does, is ignored. `options`: what was read from the config. `is_resumed`: the fit
/// resumes from a checkpoint, or may do so.
std::vector<std::string> options_without_effect(const Config& config, const ReadOptions& options,
                                                bool is_resumed = true);

}  // namespace levin::cli
