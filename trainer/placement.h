#pragma once
#include <c10/core/Device.h>
#include <levin/trainer/core/accelerator.h>
#include <levin/trainer/launch/environment.h>
#include <levin/trainer/options.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace levin {

/// Where a run takes place.
struct Placement {
  std::vector<c10::Device> devices = {c10::Device(c10::kCPU)};  ///< several under dp
  c10::Device output_device = c10::kCPU;                        ///< one of them
  bool asked_for = false;  ///< false: a module that is not on the CPU stays where it is
  StrategyChoice strategy = {"single_device", "one device"};
  std::optional<LaunchEnvironment> environment = {};  ///< of a rank that a launcher has started
  int64_t num_nodes = 1;
  bool planned = false;  ///< rank 0 of `environment` is this process, and there are no others

  /// Ranks have still to be started, one for each device.
  bool needs_supervisor() const { return strategy.has_ranks() && !environment && devices.size() * num_nodes > 1; }
};

/// What options mean on this machine, as they were given, before `resolve`. Under a launcher that has started several
/// ranks, `devices` has this rank's alone, and no strategy means ddp. Throws levin::UsageError for devices that are not
/// there, for an output_device that is none of them, and where the launcher's ranks are not what the options ask for.
Placement choose_placement(const TrainerOptions& given, const VisibleGpus& gpus,
                           const std::optional<LaunchEnvironment>& environment = {});

/// The same as rank 0 of all ranks that the options ask for, none of which is there: for a dry run. Where this machine
/// lacks the GPUs that are asked for, it is on the CPU.
Placement plan_placement(const TrainerOptions& given, const VisibleGpus& gpus);

}  // namespace levin
