#pragma once
#include <levin/trainer/loops/training_step.h>
#include <levin/trainer/run/run_context.h>

#include <cstdint>

namespace levin {

/// Warns of a fit that trains nothing, or less than its gradients: once, with the cause.
class TrainingCheck {
 public:
  /// `run` must outlive the object.
  explicit TrainingCheck(RunContext& run);

  /// Call after each batch, while its gradients are there. After the first step it looks for parameters that have a
  /// gradient and are in no optimizer, and for hooks that may have read gradients where this rank has parts of them.
  void after_batch(const TrainingStep::Outcome& outcome);
  /// Call at the end of the fit. Warns if there were batches and no step.
  void at_end() const;

 private:
  void check_gradients() const;
  void check_adapters() const;
  void check_hooks() const;

  RunContext& run_;
  int64_t steps_before_, asked_before_;  // asked for gradients by gradients_of
  int64_t batches_ = 0;
  bool has_stepped_ = false;
};

}  // namespace levin
