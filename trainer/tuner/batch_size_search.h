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
  int64_t batches = 0;      ///< of an epoch; 0 if unknown
  int64_t samples = 0;      ///< of the largest batch
  std::string reason = {};  ///< why it did not fit
};

/// The options of the search.
struct BatchSizeSearch {
  bool bisect = false;  ///< between the largest size that fits and the smallest that does not
  int64_t init_val = 2, max_trials = 25, max_val = 8192;
  int64_t min_batches = 10;  ///< that an epoch keeps
};

/// Doubles the batch size from init_val until a trial does not fit or an epoch has no more than min_batches
/// batches, then bisects if `bisect` is set. Halves the size while nothing has fitted. Returns all trials in order;
/// largest_fit gives the result. Throws levin::UsageError if not even one sample fits, or if nothing fits within
/// max_trials.
std::vector<BatchSizeTrial> search_batch_size(const BatchSizeSearch& search,
                                              const std::function<BatchSizeTrial(int64_t batch_size)>& try_size);

/// Returns the largest size that fitted and left min_batches batches, at most the number of samples; the first size
/// that fitted if all left fewer; 0 if none fitted.
int64_t largest_fit(const BatchSizeSearch& search, const std::vector<BatchSizeTrial>& trials);

}  // namespace levin
