#include <levin/core/system/memory_use.h>

namespace levin {

std::optional<DeviceMemory> device_memory(c10::Device) { return {}; }
void reset_peak_memory(c10::Device) {}
void empty_device_cache() {}

}  // namespace levin
