#pragma once
#include <levin/core/run/trainer_state.h>
#include <levin/trainer/options/resolved_options.h>

#include <cstdint>
#include <optional>

namespace levin {

/// Decides when validation runs during training, from val_check_interval and check_val_every_n_epoch.
///
/// - a fraction or a number of batches: at this interval in every n-th epoch (1.0: at the epoch's end)
/// - a number of batches, with check_val_every_n_epoch null: at this interval, counted across epochs
/// - a time: at the end of the first window after this time since the last validation
class ValidationSchedule {
 public:
  /// `options` must outlive the schedule.
  explicit ValidationSchedule(const ResolvedOptions& options) : options_(options) {}

  /// Sets the batches per epoch, limits applied; unset if unknown. Throws UsageError if the interval does not fit them.
  void set_epoch_batches(std::optional<int64_t> batches);
  /// Returns whether a validation is due after a train batch. `last`: it is the epoch's last batch. `time_is_up`: as
  /// the ranks agreed.
  bool due(const TrainerState& state, bool last, bool time_is_up) const;
  /// Returns whether validation is due only at an epoch's last batch.
  bool waits_for_the_last() const { return !every_batches_ && !options_->val_check_interval.time(); }
  bool counts_this_epoch(const TrainerState& state) const;
  /// Returns whether a validation is due by this rank's clock.
  bool time_is_up(const TrainerState& state) const;

 private:
  const ResolvedOptions& options_;
  std::optional<int64_t> every_batches_ = {};  ///< unset: only at the epoch's last batch
};

}  // namespace levin
