#pragma once
#include <levin/trainer/options/contradictions.h>
#include <levin/trainer/options/trainer_options.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

struct LaunchEnvironment;
struct VisibleGpus;

/// What ends a fit, and the batches of its epochs.
struct FitLimits {
  std::optional<int64_t> epochs = {};  ///< unset: no limit
  std::optional<int64_t> steps = {};   ///< unset: no limit
  BatchLimit train_batches = 1.0;
};

/// What `resolve` is to know besides the options. The default: this machine, where no launcher has started ranks.
struct ResolveFor {
  const VisibleGpus* gpus = nullptr;                     ///< null: those of this machine
  const LaunchEnvironment* environment = nullptr;        ///< null: no launcher has started this process
  std::vector<Contradiction>* contradictions = nullptr;  ///< gets all of them before the first is thrown
};

/// The options that a run reads; only `resolve` makes them, and nobody can change them. Each value is within its limits
/// and none contradicts another, early spellings have become the present ones, `strategy` is the one that was chosen,
/// fast_dev_run and barebones have become the limits that they set, and an option with a default is never unset, but
/// for those that follow another one (`quiet`): a config.json with their values would contradict it later.
class ResolvedOptions {
 public:
  const TrainerOptions& operator*() const { return options_; }
  const TrainerOptions* operator->() const { return &options_; }

  /// Returns the strategy that was chosen, and why.
  const StrategyChoice& strategy() const { return strategy_; }
  /// Returns the path of the option that says which devices: the early or the present one, as it was given.
  const char* devices_option() const { return devices_option_; }
  /// Returns whether the options as they were given say which devices; and whether they say that, or which kind.
  bool names_devices() const { return names_devices_; }
  bool asks_for_devices() const { return asks_for_devices_; }

  bool saves_checkpoints() const { return *options_.enable_checkpointing; }
  bool shows_progress_bar() const { return options_.enable_progress_bar.value_or(!options_.quiet); }
  bool prints_model_summary() const { return options_.enable_model_summary.value_or(!options_.quiet); }
  /// Returns whether the run writes files: logs, or checkpoints.
  bool has_run_folder() const { return options_.logger.is_on() || saves_checkpoints(); }
  /// Returns the name, for errors, of what limits the batches of training or validation: overfit_batches sets both
  /// limits.
  const char* limit_or_overfit(const char* limit) const {
    return options_.overfit_batches.is_none() ? limit : "trainer.overfit_batches";
  }
  /// Returns the folder of the runs' folders: <default_root_dir>/<name>.
  std::filesystem::path runs_folder() const { return std::filesystem::path(options_.default_root_dir) / options_.name; }
  /// Returns the number of epochs after which fit ends; unset without a limit.
  std::optional<int64_t> epoch_limit() const { return *options_.max_epochs < 0 ? std::nullopt : options_.max_epochs; }
  /// Returns the limits of the fit for which schedules are made: these options', but for fast_dev_run those of the fit
  /// that it tries out.
  FitLimits whole_fit() const;
  /// Returns warnings about the given options, for the user.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Returns the same options with `more` after the other callbacks.
  ResolvedOptions with_callbacks(const std::vector<CallbackEntry>& more) const;
  /// Returns the options of a trial that levin::tune makes: nothing is written, printed or searched, the callbacks are
  /// `callbacks` alone, and `change` has set what the search needs.
  ResolvedOptions for_trial(const std::vector<CallbackEntry>& callbacks,
                            const std::function<void(TrainerOptions&)>& change) const;

 private:
  friend ResolvedOptions resolve(TrainerOptions given, const ResolveFor& how);
  ResolvedOptions(TrainerOptions given, StrategyChoice strategy);

  TrainerOptions options_;
  StrategyChoice strategy_;
  const char* devices_option_;
  bool names_devices_, asks_for_devices_;
  std::optional<FitLimits> tried_out_ = {};  ///< by fast_dev_run
  std::vector<std::string> warnings_ = {};
};

/// Checks options and returns them resolved. If a launcher has started several ranks, strategy "auto" is ddp. Throws
/// UsageError for a value outside its limits, for two options that contradict each other (the message names both), and
/// for an option that this version cannot run.
ResolvedOptions resolve(TrainerOptions given, const ResolveFor& how = {});

/// Throws UsageError if `resolve` would.
void check_options(const TrainerOptions& options);

}  // namespace levin
