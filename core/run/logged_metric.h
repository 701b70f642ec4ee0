#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/core/state/state.h>

namespace levin {

class Comm;

/// The interface that `log` needs of a metric: the sink computes the metric at the epoch's end, over all ranks, and
/// resets it. levin::metrics::Metric implements it; a user's class may too.
class LoggedMetric {
 public:
  virtual ~LoggedMetric() = default;

  /// Returns the value of all updates since the last reset; for `log` it must have one element.
  virtual at::Tensor compute() const = 0;
  /// Returns the value of the latest batch alone, for on_step; undefined if batch values were not asked for.
  virtual at::Tensor batch_value() const = 0;
  virtual void reset() = 0;
  /// Moves the accumulated state to `device`.
  virtual void to(c10::Device device) = 0;
  /// Makes compute() return the value over all ranks until unsync(). Collective: all ranks call it.
  virtual void sync(Comm& comm) = 0;
  virtual void unsync() = 0;
  virtual State state_dict() const = 0;
  /// Inserts a state that was saved earlier before the updates since then.
  virtual void prepend_state_dict(const State& earlier) = 0;
  /// Replaces the accumulated state.
  virtual void load_state_dict(const State& state) {
    reset();
    prepend_state_dict(state);
  }
};

}  // namespace levin
