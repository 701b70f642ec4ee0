#pragma once
#include <levin/trainer/options/trainer_options.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// What ends a fit, and the batches of its epochs.
struct FitLimits {
  std::optional<int64_t> epochs = {};  ///< unset: no limit
  std::optional<int64_t> steps = {};   ///< unset: no limit
  BatchLimit train_batches = 1.0;
};

/// The options that a run reads; only `resolve` makes them. Each value is within its limits and none contradicts
/// another, early spellings have become the present ones, fast_dev_run and barebones have become the limits that they
/// set, and an option with a default is never unset, but for those that follow another one (`quiet`): a config.json
/// with their values would contradict it later.
class ResolvedOptions : public TrainerOptions {
 public:
  bool saves_checkpoints() const { return *enable_checkpointing; }
  bool shows_progress_bar() const { return enable_progress_bar.value_or(!quiet); }
  bool prints_model_summary() const { return enable_model_summary.value_or(!quiet); }
  /// Returns whether the run writes files: logs, or checkpoints.
  bool has_run_folder() const { return logger.is_on() || saves_checkpoints(); }
  /// Returns the name, for errors, of what limits the batches of training or validation: overfit_batches sets both
  /// limits.
  const char* limit_or_overfit(const char* limit) const {
    return overfit_batches.is_none() ? limit : "trainer.overfit_batches";
  }
  /// Returns the folder of the runs' folders: <default_root_dir>/<name>.
  std::filesystem::path runs_folder() const { return std::filesystem::path(default_root_dir) / name; }
  /// Returns the number of epochs after which fit ends; unset without a limit.
  std::optional<int64_t> epoch_limit() const { return *max_epochs < 0 ? std::nullopt : max_epochs; }
  /// Returns the limits of the fit for which schedules are made: these options', but for fast_dev_run those of the fit
  /// that it tries out.
  FitLimits whole_fit() const;
  /// Returns warnings about the given options, for the user.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  friend ResolvedOptions resolve(TrainerOptions given);
  explicit ResolvedOptions(TrainerOptions given) : TrainerOptions(std::move(given)) {}

  std::optional<FitLimits> tried_out_ = {};  ///< by fast_dev_run
  std::vector<std::string> warnings_ = {};
};

/// Checks the options as check_options does, and returns them resolved.
ResolvedOptions resolve(TrainerOptions given);

}  // namespace levin
