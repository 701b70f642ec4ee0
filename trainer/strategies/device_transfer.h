#pragma once
#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <levin/data/batch.h>

#include <optional>

namespace levin {

/// Moves batches to one device. Copies to a GPU run on a separate stream, so copies from page-locked memory
/// (`pin_memory` of the loader) overlap with the device's earlier steps; later work on the device's current stream
/// waits for the copy. It never blocks the host.
class DeviceTransfer {
 public:
  explicit DeviceTransfer(c10::Device device);
  Batch operator()(Batch batch) const;

 private:
  c10::Device device_;
  std::optional<c10::Stream> stream_ = {};  ///< none on the CPU
};

}  // namespace levin
