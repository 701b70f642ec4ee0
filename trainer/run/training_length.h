#pragma once
#include <levin/core/run/callback_entry.h>
#include <levin/trainer/options/resolved_options.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace levin {

/// The number of micro-batches per optimizer step, by epoch.
using BatchesOfStep = std::function<int64_t(int64_t epoch)>;
/// Returns `k` for all epochs, or the numbers of a GradientAccumulationScheduler among the callbacks, converted by
/// `scale` if given.
BatchesOfStep batches_of_step(int64_t k, const std::vector<CallbackEntry>& callbacks,
                              const std::function<int64_t(int64_t k)>& scale = {});

/// Returns the optimizer steps of a fit with `batches` per epoch on each rank; unset if the end is not known.
std::optional<int64_t> estimated_steps(const FitLimits& fit, std::optional<int64_t> batches,
                                       const BatchesOfStep& batches_of_step);

}  // namespace levin
