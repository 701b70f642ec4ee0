#pragma once
#include <levin/trainer/core/callback_entry.h>
#include <levin/trainer/options.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace levin {

/// The epochs of a fit with resolved options; unset without limit.
std::optional<int64_t> epoch_limit(const TrainerOptions& options);

/// How many micro-batches an epoch's optimizer steps are made of, by epoch.
using BatchesOfStep = std::function<int64_t(int64_t epoch)>;
/// `k` in all epochs, or what a GradientAccumulationScheduler among the callbacks says; then `scale`, where it is
/// given, changes its numbers.
BatchesOfStep batches_of_step(int64_t k, const std::vector<CallbackEntry>& callbacks,
                              const std::function<int64_t(int64_t k)>& scale = {});

/// Optimizer steps of a whole fit with `batches` per epoch on each rank; unset where it has no known end.
std::optional<int64_t> estimated_steps(const TrainerOptions& options, std::optional<int64_t> batches,
                                       const BatchesOfStep& batches_of_step);

}  // namespace levin
