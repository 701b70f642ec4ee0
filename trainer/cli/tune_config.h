#pragma once
#include <levin/trainer/cli/run_options.h>

#include <string>

namespace levin::cli {

/// Whether a fit with these options looks for a batch size or a learning rate first.
bool asks_for_tuning(const TrainerOptions& options);

/// Looks for what auto_scale_batch_size and auto_lr_find ask, with a module and data of its own, and returns the
/// options of the fit: with data.batch_size and the model's rate as found, and without the question, so that they can
/// be run again. A fit that goes on from a checkpoint keeps what was found when its run began.
/// Throws UsageError where model or data have no such options.
RunOptions tune_config(RunOptions options, const std::string& ckpt_path);

}  // namespace levin::cli
