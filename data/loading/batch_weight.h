#pragma once
#include <levin/data/batch.h>

#include <cstdint>

namespace levin {

/// Returns the weight of a batch in means over batches: its number of samples, or 1 if the batch is empty or is a
/// user's own struct of size 0. Tensors without rows have the weight 0.
inline int64_t weight_of_batch(const Batch& batch) {
  const int64_t samples = batch.size();
  return samples == 0 && (batch.empty() || batch.is_own()) ? 1 : samples;
}

}  // namespace levin
