#pragma once
#include <levin/core/options/metric_mode.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace levin::sweep {

/// The value of a trial at the end of a rung; unset if it has none (failed, NaN, or never logged).
using RungValue = std::optional<double>;
/// Values of the trials that have ended a rung, by trial.
using RungValues = std::map<int64_t, RungValue>;

/// Asynchronous successive halving (ASHA): every trial trains for the first rung's epochs, and of those that have ended
/// a rung, the best 1 / reduction_factor go on to the next.
///
/// Trials count as ended in the order in which they entered the rung, not in that of the clock, so that which trials go
/// on depends on values alone: a sweep on one core, on many, or interrupted, promotes the same ones. Source: L. Li et
/// al., A System for Massively Parallel Hyperparameter Tuning, MLSys 2020, algorithm 2.
class Halving {
 public:
  /// `rungs`: the number of rungs; one means that no trial is stopped early.
  Halving(int64_t trials, size_t rungs, int64_t reduction_factor, MetricMode mode)
      : trials_(trials), rungs_(rungs), reduction_factor_(reduction_factor), mode_(mode) {}

  /// Returns for each rung the trials that may enter it, in order, as far as `ended` decides. `ended` has an entry per
  /// rung.
  std::vector<std::vector<int64_t>> entrants(const std::vector<RungValues>& ended) const;

 private:
  int64_t trials_;
  size_t rungs_;
  int64_t reduction_factor_;
  MetricMode mode_;
};

/// Returns the epochs of the rungs: `grace_epochs` times the powers of `reduction_factor`, and at last `max_epochs`.
std::vector<int64_t> rung_epochs(int64_t grace_epochs, int64_t max_epochs, int64_t reduction_factor);

}  // namespace levin::sweep
