#pragma once

namespace levin {

/// Whether the batch that this thread runs counts in statistics and metrics; not one that a rank runs only so that the
/// others' collectives are complete.
inline bool& batch_counts() {
  static thread_local bool counts = true;
  return counts;
}

}  // namespace levin
