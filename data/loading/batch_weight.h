#pragma once
#include <levin/data/batch.h>

#include <cstdint>

namespace levin {

/// What a batch weighs in means over batches: its samples, and 1 where its content has no size, since it is empty or a
/// struct of the user's own that says 0. Tensors without rows weigh nothing.
inline int64_t weight_of_batch(const Batch& batch) {
  const int64_t samples = batch.size();
  return samples == 0 && (batch.empty() || batch.is_own()) ? 1 : samples;
}

}  // namespace levin
