#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <levin/core/system/memory_use.h>

namespace levin {

namespace allocator = c10::cuda::CUDACachingAllocator;

std::optional<DeviceMemory> device_memory(c10::Device device) {
  if (!device.is_cuda()) return {};
  const c10::cuda::CUDAGuard guard(device);
  const auto stats = allocator::getDeviceStats(c10::cuda::current_device());
  const auto& allocated = stats.allocated_bytes[0];  // 0: the total over all sizes
  const auto& reserved = stats.reserved_bytes[0];
  size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return DeviceMemory{.allocated = allocated.current,
                      .allocated_peak = allocated.peak,
                      .reserved = reserved.current,
                      .reserved_peak = reserved.peak,
                      .out_of_memory_errors = stats.num_ooms,
                      .free = static_cast<int64_t>(free),
                      .total = static_cast<int64_t>(total)};
}

void reset_peak_memory(c10::Device device) {
  if (!device.is_cuda()) return;
  const c10::cuda::CUDAGuard guard(device);
  allocator::resetPeakStats(c10::cuda::current_device());
}

void empty_device_cache() { allocator::emptyCache(); }

}  // namespace levin
