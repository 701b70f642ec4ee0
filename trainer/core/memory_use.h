#pragma once
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace levin {

/// Main memory as this process sees it, in bytes (Linux; 0 where the system does not say).
struct HostMemory {
  int64_t resident = 0;       ///< of this process
  int64_t resident_peak = 0;  ///< its maximum so far
  int64_t available = 0;      ///< what it may still take: of the machine, or of its control group where that is less
};
HostMemory host_memory();

/// Memory of a GPU, in bytes: what LibTorch's caching allocator has of it, and what is free.
struct DeviceMemory {
  int64_t allocated = 0, allocated_peak = 0;  ///< by tensors
  int64_t reserved = 0, reserved_peak = 0;    ///< of the device, tensors and cache
  int64_t out_of_memory_errors = 0;
  int64_t free = 0, total = 0;  ///< of the device, other processes counted
};
/// None for the CPU, and in builds without CUDA. Does not wait for the device.
std::optional<DeviceMemory> device_memory(c10::Device device);
/// Begins the peaks anew; nothing for the CPU.
void reset_peak_memory(c10::Device device);
/// Gives memory that no tensor uses back to the devices; nothing for the CPU. Waits for them.
void empty_device_cache();

}  // namespace levin
