#include <levin/modules/parallel/replicas/replica_devices.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin::parallel {
namespace {

c10::Device checked_device(c10::Device device, const std::string& what) {
  if (device.is_cpu()) return c10::kCPU;
  const std::string kind = c10::DeviceTypeName(device.type(), /*lower_case=*/true);
  if (!c10::impl::hasDeviceGuardImpl(device.type()))
    throw UsageError(what, ": the device ", device, " was asked for, and this LibTorch has no ", kind);
  const auto* const all = c10::impl::getDeviceGuardImpl(device.type());
  const int count = all->deviceCount();
  if (count == 0) throw UsageError(what, ": the device ", device, " was asked for, and this machine has no ", kind);
  if (!device.has_index()) device = all->getDevice();
  if (device.index() >= count)
    throw UsageError(what, ": there is no ", device, "; this machine has ", kind, ":0 to ", kind, ":", count - 1);
  return device;
}

}  // namespace

std::vector<c10::Device> checked_devices(const std::vector<c10::Device>& devices, const std::string& what) {
  std::vector<c10::Device> checked;
  for (const c10::Device device : devices) {
    checked.push_back(checked_device(device, what));
    if (!checked.back().is_cpu() && std::ranges::count(checked, checked.back()) > 1)
      throw UsageError(what, ": ", checked.back(), " stands twice in the devices; only the CPU may");
  }
  return checked;
}

}  // namespace levin::parallel
