#include <levin/trainer/tuner/batch_size_search.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin {
namespace {

/// Returns the next size to try; 0 if the search is over.
int64_t next_size(const BatchSizeSearch& search, const std::vector<BatchSizeTrial>& trials) {
  int64_t fits = 0, fails = 0;
  for (const BatchSizeTrial& trial : trials) {
    if (trial.fits && trial.batches > 0 && trial.batches <= search.min_batches) return 0;
    if (trial.fits) fits = std::max(fits, trial.batch_size);
    if (!trial.fits) fails = fails == 0 ? trial.batch_size : std::min(fails, trial.batch_size);
  }
  if (fails == 0) return fits >= search.max_val ? 0 : std::min(2 * fits, search.max_val);
  if (fits == 0) return fails / 2;
  return search.bisect && fails - fits > 1 ? (fits + fails) / 2 : 0;
}

}  // namespace

int64_t largest_fit(const BatchSizeSearch& search, const std::vector<BatchSizeTrial>& trials) {
  int64_t largest = 0;
  for (const BatchSizeTrial& trial : trials) {
    const bool too_few = trial.batches > 0 && trial.batches < search.min_batches;
    if (!trial.fits || (too_few && largest > 0)) continue;
    const int64_t useful = trial.batches == 1 ? std::min(trial.batch_size, trial.samples) : trial.batch_size;
    largest = std::max(largest, useful);
  }
  return largest;
}

std::vector<BatchSizeTrial> search_batch_size(const BatchSizeSearch& search,
                                              const std::function<BatchSizeTrial(int64_t batch_size)>& try_size) {
  std::vector<BatchSizeTrial> trials;
  for (int64_t size = std::min(search.init_val, search.max_val); size > 0; size = next_size(search, trials)) {
    if (static_cast<int64_t>(trials.size()) == search.max_trials) break;
    trials.push_back(try_size(size));
    if (size == 1 && !trials.back().fits)
      throw UsageError("scale_batch_size: out of memory at batch size 1 (", trials.back().reason,
                       "); use a smaller model or smaller samples, precision 16, or more memory");
  }
  if (largest_fit(search, trials) == 0)
    throw UsageError("scale_batch_size: none of ", trials.size(), " batch sizes down to ", trials.back().batch_size,
                     " fits (", trials.back().reason, "); lower init_val or raise max_trials");
  return trials;
}

}  // namespace levin
