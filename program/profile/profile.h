#pragma once
#include <levin/core/options/option.h>
#include <levin/data/data_module.h>
#include <levin/modules/lightning_module.h>
#include <levin/program/profile/profile_report.h>
#include <levin/trainer/options/trainer_options.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace levin {

/// The parts of one trial.
struct ProfileParts {
  TrainerOptions trainer = {};
  std::shared_ptr<LightningModule> module = {};
  std::shared_ptr<data::DataModule> data = {};  ///< null: the module's own loaders
};

/// What is profiled: a config, and how to make new parts of it.
struct ProfileSubject {
  /// JSON: `{"trainer": {...}, "model": {...}, "data": {...}}`, with the value of every option that may be changed.
  std::string config = {};
  /// Makes the parts of such a config, anew at each call.
  std::function<ProfileParts(const std::string& config)> make = {};
};

struct ProfileOptions {
  int64_t steps = LEVIN_OPTION(steps, 0, "Measured train batches of a trial; 0: as many as take `seconds`", {.min = 0});
  double seconds = LEVIN_OPTION(seconds, 0.3, "How long a trial measures, if 24 to 400 batches take so long",
                                {.min = 0.01, .max = 60});
  int64_t max_pairs =
      LEVIN_OPTION(max_pairs, 9, "Pairs of trials at most until the gain of a change is clear", {.min = 3, .max = 31});
  /// Receives a line before each group of trials; unset: none.
  std::function<void(const std::string& line)> progress = {};
};

/// Runs many short trial fits, and returns what holds a run back and what to change, each with the measured gain.
///
/// A trial is a fit of new parts (`subject.make`), so that no module, data or folder of the caller is touched: what
/// loggers and checkpoints write goes into a temporary folder beside the runs, which is removed. Trials of a change and
/// of what it is compared with alternate, and what is reported is the median of their ratios, once its confidence
/// interval is clear of no gain. Under ddp all ranks call it; the clock of rank 0 counts.
///
/// Throws UsageError for options out of bounds, a config that is no JSON, fast_dev_run, and data that gives no batch;
/// rethrows what a fit of the unchanged config throws. A changed config that fails to train is left out. Throws
/// levin::Error after a signal that asks to end.
ProfileReport profile_run(const ProfileSubject& subject, const ProfileOptions& options = {});

}  // namespace levin
