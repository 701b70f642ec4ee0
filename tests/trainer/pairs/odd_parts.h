#pragma once
#include <levin/levin.h>

namespace pairs {

/// Returns the loss of an OddLearner for a batch of its data, as a host program would compute it.
levin::StepOutput host_loss(levin::LightningModule& module, const levin::Batch& batch, int64_t number);

}  // namespace pairs
