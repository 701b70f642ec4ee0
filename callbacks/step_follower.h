#pragma once

namespace levin {

class Run;

/// What a callback does after each optimizer step. The end of a session's epoch may make a step for the batches of an
/// open window, and no batch hooks come with it: a callback that follows steps derives from this class too, and calls
/// `after_step` in its on_train_batch_end itself.
class StepFollower {
 public:
  virtual ~StepFollower() = default;
  /// Called after a step without a batch, in the callbacks' order. Batches that made no step may precede it.
  virtual void after_step(Run& run) = 0;
};

}  // namespace levin
