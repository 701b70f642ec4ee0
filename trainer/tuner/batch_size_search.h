#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace levin {

/// The result of a trial with one batch size.
struct BatchSizeTrial {
  int64_t batch_size = 0;
  bool fits = false;
  int64_t peak_bytes = 0;   ///< peak memory of tensors beyond what was in use before its first step
  bool whole_data = false;  ///< one batch held all samples of an epoch
  int64_t samples = 0;      ///< of the largest batch
  std::string reason = {};  ///< why it did not fit
};

/// The options of the search.
struct BatchSizeSearch {
  bool bisect = false;  ///< between the largest size that fits and the smallest that does not
  int64_t init_val = 2, max_trials = 25, max_val = 8192;
};

/// Doubles the batch size from init_val until a trial does not fit, then bisects if `bisect` is set. Halves the size
/// while nothing has fitted. Returns all trials in order; largest_fit gives the result. Throws levin::UsageError if not
/// even one sample fits, or if nothing fits within max_trials.
std::vector<BatchSizeTrial> search_batch_size(const BatchSizeSearch& search,
                                              const std::function<BatchSizeTrial(int64_t batch_size)>& try_size);

/// Returns the largest size that fitted, at most the number of samples; 0 if none fitted.
int64_t largest_fit(const std::vector<BatchSizeTrial>& trials);

}  // namespace levin
