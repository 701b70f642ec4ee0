#pragma once
#include <c10/core/Device.h>
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>

#include <cstdint>
#include <functional>

namespace levin {

/// The batch of a step whose loss the caller computes itself, in place of training_step.
struct OwnLoss {
  std::function<StepOutput()> compute;

  int64_t size() const { return 0; }
  OwnLoss to(c10::Device /*device*/) const { return *this; }
};

/// Runs the module's training_step on the batch, or computes the loss that the batch brings.
inline StepOutput run_training_step(LightningModule& module, const Batch& batch, int64_t batch_idx) {
  if (const OwnLoss* own = batch.get_if<OwnLoss>()) return own->compute();
  return module.training_step(batch, batch_idx);
}

}  // namespace levin
