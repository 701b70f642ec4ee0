#pragma once
#include <c10/core/Device.h>
#include <levin/program/profile/profile_report.h>

namespace levin {

/// Measures a float32 matrix product and a copy on `device`, with the compute threads that LibTorch has now: the
/// fastest of those that run in 0.3 s.
ProfileMachine machine_speed(c10::Device device);

}  // namespace levin
