#pragma once
#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace levin::parallel {

/// The devices of replicas with their indices; `cuda` without one is the current device. `what` stands before messages.
///
/// CPUs may repeat, others may not: each device has one replica. Throws levin::UsageError for one that stands twice, an
/// index that does not exist, and a kind of device that this LibTorch lacks.
std::vector<c10::Device> checked_devices(const std::vector<c10::Device>& devices, const std::string& what);

}  // namespace levin::parallel
