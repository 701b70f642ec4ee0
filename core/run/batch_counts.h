#pragma once

namespace levin {

/// Whether the batch that this thread runs counts in statistics and metrics. It does not if the rank runs the batch
/// only to take part in the other ranks' collectives.
inline bool& batch_counts() {
  static thread_local bool counts = true;
  return counts;
}

}  // namespace levin
