#pragma once
#include <c10/core/Device.h>
#include <levin/core/device/gpu_discovery.h>
#include <levin/trainer/launch/environment.h>
#include <levin/trainer/options/resolved_options.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace levin {

class LightningModule;
class ProcessGroup;
class Profiler;
class Strategy;

/// The devices, strategy and ranks of a run.
struct Placement {
  std::vector<c10::Device> devices = {c10::Device(c10::kCPU)};  ///< several under dp
  bool asked_for = false;  ///< if false, a module that is not on the CPU is not moved
  StrategyChoice strategy = {};
  std::optional<LaunchEnvironment> environment = {};  ///< set if a launcher has started this rank
  int64_t num_nodes = 1;
  bool is_dry_run = false;  ///< dry run: this process acts as rank 0, and the other ranks do not exist

  /// Returns whether ranks have yet to be started, one per device.
  bool needs_supervisor() const { return strategy.has_ranks() && !environment && devices.size() * num_nodes > 1; }
};

/// Returns the placement on this machine. If a launcher has started several ranks, `devices` holds only this rank's
/// device. Throws levin::UsageError for missing devices, for an output_device that is not one of them, and if the
/// launcher's ranks do not match the options.
Placement choose_placement(const ResolvedOptions& options, const VisibleGpus& gpus,
                           const std::optional<LaunchEnvironment>& environment = {});

/// Returns the placement of rank 0 for a dry run, without any other rank. If this machine has no GPU, the placement is
/// on the CPU.
Placement placement_for_dry_run(const ResolvedOptions& options, const VisibleGpus& gpus);

/// Resolves options for the ranks that a launcher has started, if any. `contradictions` as in ResolveFor.
ResolvedOptions resolve_here(TrainerOptions given, std::vector<Contradiction>* contradictions = nullptr);
/// Returns the placement on this machine, among those ranks.
Placement place_here(const ResolvedOptions& options);

/// Options with their placement.
struct PlacedOptions {
  ResolvedOptions options;
  Placement placement;
};
PlacedOptions resolve_and_place_here(TrainerOptions given);

/// Makes the strategy of a placement, whose steps `profiler` measures unless it is null. `ranks` is null without ranks.
std::unique_ptr<Strategy> make_strategy(const Placement& placement, const ResolvedOptions& options, ProcessGroup* ranks,
                                        const LightningModule& module, Profiler* profiler);

}  // namespace levin
