#include <levin/trainer/loops/validation_schedule.h>

namespace levin {

void ValidationSchedule::set_epoch_batches(std::optional<int64_t> batches) {
  const CheckInterval& interval = options_->val_check_interval;
  if (interval.time()) return;
  if (!options_->check_val_every_n_epoch)
    every_batches_ = interval.count();
  else
    every_batches_ = interval.of(batches, "trainer.val_check_interval");
}

bool ValidationSchedule::counts_this_epoch(const TrainerState& state) const {
  return !options_->check_val_every_n_epoch || (state.epoch + 1) % *options_->check_val_every_n_epoch == 0;
}

bool ValidationSchedule::due(const TrainerState& state, bool last, bool time_is_up) const {
  if (!counts_this_epoch(state)) return false;
  if (options_->val_check_interval.time()) return time_is_up;
  if (!every_batches_) return last;
  const int64_t batches = options_->check_val_every_n_epoch ? state.batch_in_epoch : state.batches_seen;
  return batches % *every_batches_ == 0;
}

bool ValidationSchedule::time_is_up(const TrainerState& state) const {
  const std::optional<Duration>& time = options_->val_check_interval.time();
  return time && state.elapsed_seconds - state.validated_seconds >= time->seconds();
}

}  // namespace levin
