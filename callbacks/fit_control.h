#pragma once
#include <cstdint>

namespace levin {

class LRScheduler;

/// What a callback may control of a fit besides what it asks of Run: a callback derives from this class too, and the
/// loops ask it. All ranks must give the same answers.
class FitControl {
 public:
  virtual ~FitControl() = default;
  /// Returns the number of epochs that the fit runs after max_epochs. Asked once, after on_fit_start.
  virtual int64_t extra_epochs() const { return 0; }
  /// Returns whether batches only run forward: no backward, no optimizer step, and global_step stands still. Asked
  /// before each batch of automatic optimization.
  virtual bool is_forward_only() const { return false; }
  /// Returns the scheduler that steps at the end of each epoch, in place of the module's schedulers, which stand still;
  /// null: the module's step.
  virtual LRScheduler* lr_scheduler() { return nullptr; }
  /// Returns the number of epochs at whose ends that scheduler has stepped, also of the run that was resumed.
  virtual int64_t epochs_of_lr_scheduler() const { return 0; }
};

}  // namespace levin
