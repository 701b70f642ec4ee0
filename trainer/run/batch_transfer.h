#pragma once
#include <levin/data/batch.h>
#include <levin/trainer/run/run_parts.h>

#include <cstdint>

namespace levin {

/// Moves a batch to the run's device in the run's memory format, through overridden transfer hooks of the data module
/// or the module.
Batch transfer_batch(const RunParts& parts, Batch batch, int64_t dataloader_idx);

}  // namespace levin
