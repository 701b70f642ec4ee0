#pragma once
#include <levin/trainer/core/trainer_state.h>
#include <levin/trainer/options.h>

#include <cstdint>
#include <optional>

namespace levin {

/// When validation runs during training: what val_check_interval and check_val_every_n_epoch mean together.
///
/// - a fraction, or a number of batches: so often in every n-th epoch, or at such an epoch's end
/// - a number of batches without epochs to count (check_val_every_n_epoch null): whenever so many batches have passed
/// - a time: at the end of the first window after so much time has passed since the last validation
class ValidationSchedule {
 public:
  /// `options` must outlive the schedule.
  explicit ValidationSchedule(const TrainerOptions& options) : options_(options) {}

  /// Batches of an epoch, limits applied; unset where unknown. Throws UsageError where the interval cannot be met.
  void set_epoch_batches(std::optional<int64_t> batches);
  /// After a train batch; `last` of its epoch. `time_is_up`: what the ranks agreed on.
  bool due(const TrainerState& state, bool last, bool time_is_up) const;
  /// Whether a validation is due at an epoch's last batch and nowhere else.
  bool waits_for_the_last() const { return !every_batches_ && !options_.val_check_interval.time(); }
  bool counts_this_epoch(const TrainerState& state) const;
  /// Whether this rank's clock asks for a validation.
  bool time_is_up(const TrainerState& state) const;

 private:
  const TrainerOptions& options_;
  std::optional<int64_t> every_batches_ = {};  ///< unset: at the epoch's last batch only
};

}  // namespace levin
