#pragma once
#include <c10/core/Device.h>
#include <levin/trainer/core/accelerator.h>
#include <levin/trainer/options.h>

#include <vector>

namespace levin {

/// Where a run takes place.
struct Placement {
  std::vector<c10::Device> devices = {c10::Device(c10::kCPU)};  ///< several under dp
  c10::Device output_device = c10::kCPU;                        ///< one of them
  bool asked_for = false;  ///< false: a module that is not on the CPU stays where it is
  StrategyChoice strategy = {"single_device", "one device"};
};

/// What options mean on this machine, as they were given, before `resolve`. Throws levin::UsageError for devices that
/// are not there, and for an output_device that is none of them.
Placement choose_placement(const TrainerOptions& given, const VisibleGpus& gpus);

}  // namespace levin
