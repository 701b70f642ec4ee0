#pragma once
#include <levin/core/state/state.h>

#include <cstdint>
#include <optional>

namespace levin {

/// What a run asks of the fit that drives it.
class FitDriver {
 public:
  /// Makes the run's optimizers and schedulers.
  virtual void configure_optimizers() = 0;
  /// Returns the optimizer steps of the whole fit; see Run::estimated_stepping_batches.
  virtual std::optional<int64_t> estimated_steps() = 0;
  /// Returns what the host program of a session adds to this rank's part of a checkpoint: a dict, or none.
  virtual State host_states() const = 0;

 protected:
  ~FitDriver() = default;
};

}  // namespace levin
