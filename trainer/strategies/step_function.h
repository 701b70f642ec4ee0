#pragma once
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>

#include <cstdint>

namespace levin {

/// Computes the loss of a training batch: the module's training_step, or what stands in for it.
class StepFunction {
 public:
  /// `module` is the run's module, or a replica of it that has a part of the batch.
  virtual StepOutput operator()(LightningModule& module, const Batch& batch, int64_t batch_idx) = 0;
  /// Returns whether it computes from the batch, so that a batch can be split into parts and replicas can run them.
  virtual bool can_run_parts() const = 0;

 protected:
  ~StepFunction() = default;
};

}  // namespace levin
