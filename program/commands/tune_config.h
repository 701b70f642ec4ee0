#pragma once
#include <levin/program/config/run_options.h>

#include <string>

namespace levin::cli {

/// Returns whether a fit with these options first searches a batch size or a learning rate.
bool asks_for_tuning(const TrainerOptions& options);

/// Runs the searches of auto_scale_batch_size and auto_lr_find, with a separate module and data. Returns the options of
/// the fit with the data.batch_size and learning rate found, and with the searches unset, so that the same run can be
/// repeated. A fit that resumes from a checkpoint uses the values of its run instead. Throws UsageError if model or
/// data have no such options.
ReadOptions tune_config(ReadOptions options, const std::string& ckpt_path);

}  // namespace levin::cli
