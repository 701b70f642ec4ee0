#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace levin {

/// Remembers the first optimizer step of a run whose loss was NaN or infinite.
///
/// A loss on the CPU is read at once, without a host sync. For a loss on another device, the step number is kept on
/// that device until `read`.
class LossWatch {
 public:
  /// `loss`: one element, or undefined for a skipped batch. `step`: the optimizer step of the loss, from 1.
  void see(const at::Tensor& loss, int64_t step);
  /// Reads the result from the device: a host sync.
  void read();
  /// Restores the first non-finite step from a checkpoint.
  void restore(int64_t first_step) { first_step_ = first_step; }
  /// For losses on a device, as of the last `read`.
  std::optional<int64_t> first_step() const { return first_step_; }

 private:
  std::optional<int64_t> first_step_ = {};
  at::Tensor on_device_ = {};  ///< int64 scalar, 0: none yet
};

}  // namespace levin
