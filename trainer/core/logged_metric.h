#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/trainer/core/state.h>

namespace levin {

class Comm;

/// What `log` needs of a metric: the sink computes it at the epoch's end, over all ranks, and resets it.
/// levin::metrics::Metric implements it; a class of the user's own may too.
class LoggedMetric {
 public:
  virtual ~LoggedMetric() = default;

  /// The value of all updates since the last reset; for `log` it must have one element.
  virtual at::Tensor compute() const = 0;
  /// The value of the newest batch alone, for on_step; undefined where no batch was asked for its value.
  virtual at::Tensor batch_value() const = 0;
  virtual void reset() = 0;
  /// Moves what was counted so far to `device`.
  virtual void to(c10::Device device) = 0;
  /// Makes compute() speak for all ranks, until unsync(); every rank calls it.
  virtual void sync(Comm& comm) = 0;
  virtual void unsync() = 0;
  virtual State state_dict() const = 0;
  /// Puts a state that was saved earlier before what was counted since.
  virtual void prepend_state_dict(const State& earlier) = 0;
  /// Puts a state in the place of what was counted.
  virtual void load_state_dict(const State& state) {
    reset();
    prepend_state_dict(state);
  }
};

}  // namespace levin
