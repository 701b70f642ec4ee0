#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/epoch_table.h>
#include <levin/core/options/option.h>

namespace levin {

struct GradientAccumulationSchedulerOptions {
  EpochTable scheduling = LEVIN_OPTION(scheduling, {}, "Batches to accumulate from each epoch on; required");
};

/// Changes accumulate_grad_batches during training: `{.scheduling = {{0, 8}, {4, 4}, {8, 1}}}` accumulates 8 batches
/// from epoch 0 on, 4 from epoch 4 on (counted from 0) and 1 from epoch 8 on. Before the first epoch in the table the
/// factor is 1. Source: lightning.pytorch.callbacks.GradientAccumulationScheduler
class GradientAccumulationScheduler : public Callback {
 public:
  using Options = GradientAccumulationSchedulerOptions;

  /// Throws UsageError for an empty table.
  explicit GradientAccumulationScheduler(GradientAccumulationSchedulerOptions options);
  /// Runs before a fit. Throws UsageError if the trainer's accumulate_grad_batches is set too, and under manual
  /// optimization.
  void setup(Run& run) override;
  void on_train_epoch_start(Run& run) override;

  /// Returns the number of batches accumulated in an epoch, counted from 0.
  int64_t batches_in(int64_t epoch) const { return options_.scheduling.at(epoch, /*before=*/1); }

 private:
  GradientAccumulationSchedulerOptions options_;
};

}  // namespace levin
