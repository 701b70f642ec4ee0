#pragma once
#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <levin/data/batch.h>

#include <optional>

namespace levin {

/// Moves batches to one device. To a GPU they go on a stream of their own, so that copies from page-locked memory
/// (`pin_memory` of the loader) run while the device still computes the steps before; what is computed later on the
/// device's current stream waits for the copy. Nothing here waits on the host.
class DeviceTransfer {
 public:
  explicit DeviceTransfer(c10::Device device);
  Batch operator()(Batch batch) const;

 private:
  c10::Device device_;
  std::optional<c10::Stream> stream_ = {};  ///< none on the CPU
};

}  // namespace levin
