#pragma once
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace levin {

/// Main memory in bytes, as this process sees it (Linux only; 0 if the system does not report it).
struct HostMemory {
  int64_t resident = 0;       ///< used by this process
  int64_t resident_peak = 0;  ///< the maximum of `resident` so far
  int64_t available = 0;      ///< what it may still allocate: of the machine, or of its control group if that is less
};
HostMemory host_memory();

/// The memory of a GPU in bytes: LibTorch's caching allocator, and the device as a whole.
struct DeviceMemory {
  int64_t allocated = 0, allocated_peak = 0;  ///< used by tensors
  int64_t reserved = 0, reserved_peak = 0;    ///< held by the allocator: tensors and cache
  int64_t out_of_memory_errors = 0;
  int64_t free = 0, total = 0;  ///< of the device, all processes counted
};
/// Returns nothing for the CPU and in builds without CUDA. Does not wait for the device.
std::optional<DeviceMemory> device_memory(c10::Device device);
/// Resets the peaks; a no-op for the CPU.
void reset_peak_memory(c10::Device device);
/// Returns the allocator's unused memory to the devices and waits for them; a no-op in builds without CUDA.
void empty_device_cache();

}  // namespace levin
