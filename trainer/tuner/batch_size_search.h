#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace levin {

/// What became of a trial with one batch size.
struct BatchSizeTrial {
  int64_t batch_size = 0;
  bool fits = false;
  int64_t peak_bytes = 0;   ///< the most memory that tensors took beyond what they had before its first step
  bool whole_data = false;  ///< one batch held all samples of an epoch
  int64_t samples = 0;      ///< of the largest batch
  std::string reason = {};  ///< why it did not fit
};

/// How sizes are tried.
struct BatchSizeSearch {
  bool bisect = false;  ///< between the last that fits and the first that does not
  int64_t init_val = 2, max_trials = 25, max_val = 8192;
};

/// Doubles the batch size from init_val on until a trial does not fit, and bisects then, where asked to; halves it
/// while nothing has fitted. Returns all trials in their order; the result is the largest size among those that fit,
/// or the number of samples where one batch held them all.
/// Throws levin::UsageError where not even one sample fits, or nothing has after max_trials.
std::vector<BatchSizeTrial> search_batch_size(const BatchSizeSearch& search,
                                              const std::function<BatchSizeTrial(int64_t batch_size)>& try_size);

/// The largest size that fitted, at most the samples that there are; 0 where none did.
int64_t largest_fit(const std::vector<BatchSizeTrial>& trials);

}  // namespace levin
