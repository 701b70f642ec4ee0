#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace levin {

/// Remembers the first optimizer step of a run whose loss was NaN or infinite.
///
/// A loss on the CPU is read at once, which is no sync; of one on another device the number of the step is kept there
/// until `read`.
class LossWatch {
 public:
  /// `loss`: one element, or undefined for a skipped batch. `step`: the step that it belongs to, from 1.
  void see(const at::Tensor& loss, int64_t step);
  /// Reads what is on a device: a host sync there.
  void read();
  /// Goes on where another has found this step.
  void restore(int64_t first_step) { first_step_ = first_step; }
  /// As of the last `read` for losses on a device.
  std::optional<int64_t> first_step() const { return first_step_; }

 private:
  std::optional<int64_t> first_step_ = {};
  at::Tensor on_device_ = {};  ///< int64 scalar, 0: none yet
};

}  // namespace levin
