#include <ATen/Context.h>
#include <levin/core/device/gpu_discovery.h>
#include <levin/core/system/version.h>
#include <levin/hosts/c/status.h>
#include <unistd.h>

#include <cstring>

using namespace levin::c;

int32_t levin_abi_version(void) { return LEVIN_ABI_VERSION; }

const char* levin_version(void) {
  static const std::string text = levin::levin_version();
  return text.c_str();
}

const char* levin_build(void) {
  static const std::string text = "levin " + levin::levin_version() + ", LibTorch " + levin::torch_version() + ", " +
                                  levin::compiler_version() + ", " +
                                  (levin::visible_gpus().built_with_cuda ? "with CUDA" : "without CUDA");
  return text.c_str();
}

levin_status levin_seed(uint64_t seed) {
  return guarded("levin_seed", [&] { at::manual_seed(seed); });
}

int32_t levin_device_count(void) {
  int32_t count = 1;
  guarded("levin_device_count", [&] { count += levin::visible_gpus().count; });
  return count;
}

levin_status levin_device_info(int32_t place, levin_device* device) {
  return guarded("levin_device_info", [&] {
    levin_device& filled = sized(device, "the device");
    const int32_t count = 1 + levin::visible_gpus().count;
    if (place < 0 || place >= count) throw levin::UsageError("there is no device ", place, ": there are ", count);
    filled.type = place == 0 ? LEVIN_CPU : LEVIN_CUDA;
    filled.index = place == 0 ? 0 : place - 1;
    filled.memory = place == 0 ? static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) : 0;
    const std::string name = place == 0 ? "CPU" : "CUDA " + std::to_string(place - 1);
    std::memset(filled.name, 0, sizeof filled.name);
    name.copy(filled.name, sizeof filled.name - 1);
  });
}
