#pragma once
#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace levin::parallel {

/// Returns the devices of replicas with explicit indices; `cuda` without an index is the current device. `what` is a
/// prefix for error messages.
///
/// CPUs may repeat; other devices have one replica each. Throws levin::UsageError for a duplicate device, an index that
/// does not exist, and a device type that this LibTorch does not support.
std::vector<c10::Device> checked_devices(const std::vector<c10::Device>& devices, const std::string& what);

}  // namespace levin::parallel
