#include <levin/trainer/options/placement.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/strategies/auto_microbatch.h>
#include <levin/trainer/strategies/ddp.h>
#include <levin/trainer/strategies/profiled_strategy.h>
#include <levin/trainer/strategies/single_device.h>
#include <levin/trainer/strategies/tensor_parallel.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace levin {
namespace {

/// Keeps only this rank's device. Throws if the launcher's ranks do not match the options.
void place_rank(const ResolvedOptions& options, const LaunchEnvironment& environment, Placement& placement) {
  const std::string &launcher = environment.launcher, option = options.devices_option();
  if (!placement.strategy.has_ranks())
    throw UsageError("trainer.strategy: ", placement.strategy.name, " runs in one process, and ", launcher,
                     " has started ", environment.world_size, " (rank ", environment.rank, " is this one); use ddp");
  const auto here = static_cast<size_t>(environment.local_world_size);
  if (options.names_devices() && placement.devices.size() != here)
    throw UsageError(option, " asks for ", placement.devices.size(), " on each machine, and ", launcher,
                     " has started ", here, " ranks on this one; let it start as many, or leave ", option, " unset");
  if (options->num_nodes != 1 && options->num_nodes != environment.num_nodes())
    throw UsageError("trainer.num_nodes: ", options->num_nodes, " machines, and ", launcher, " has started ranks on ",
                     environment.num_nodes(), "; leave num_nodes unset");
  const auto local_rank = static_cast<size_t>(environment.local_rank);
  if (options->accelerator == Accelerator::Cpu) {
    placement.devices = {c10::kCPU};
  } else if (options.names_devices()) {
    placement.devices = {placement.devices[local_rank]};
  } else {
    placement.devices = {choose_devices(option, options->accelerator,
                                        Devices(std::vector<int>{static_cast<int>(local_rank)}), visible_gpus())
                             .front()};
  }
  placement.environment = environment;
  placement.num_nodes = environment.num_nodes();
}

/// Returns whether the user has placed parts of the module on other devices than the CPU.
bool is_placed_by_user(const LightningModule& module) {
  const std::vector<at::Tensor> parameters = module.parameters();
  return std::any_of(parameters.begin(), parameters.end(), [](const at::Tensor& one) { return !one.is_cpu(); });
}

/// Returns what the strategy is made of on this process; `ranks` is null without ranks.
StrategyParts parts_of(const Placement& placement, const ResolvedOptions& options, ProcessGroup* ranks) {
  return {.devices = placement.devices,
          .ranks = ranks,
          .sync_batchnorm = options->sync_batchnorm,
          .deterministic = static_cast<bool>(options->deterministic),
          .sharing_ranks = options->mesh.shard};
}

std::unique_ptr<Strategy> make_chosen(const ResolvedOptions& options, const StrategyParts& parts) {
  return options->strategy.make("trainer.strategy", parts);
}

/// Makes a strategy over the ranks, which are a mesh if options say so.
std::unique_ptr<Strategy> make_strategy_of_ranks(const Placement& placement, const ResolvedOptions& options,
                                                 ProcessGroup& ranks) {
  const int64_t shard = std::max<int64_t>(options->mesh.shard, 1), tensor = options->mesh.tensor;
  if (ranks.world_size() % (shard * tensor) != 0)
    throw UsageError("trainer.mesh: shard ", shard, " times tensor ", tensor, " is ", shard * tensor,
                     ", which does not divide the ", ranks.world_size(),
                     " ranks; change trainer.devices or trainer.mesh");
  if (tensor == 1) return make_chosen(options, parts_of(placement, options, &ranks));
  auto mesh = std::make_unique<RankMesh>(ranks, tensor);
  std::unique_ptr<Strategy> data_parallel = make_chosen(options, parts_of(placement, options, &mesh->data()));
  if (dynamic_cast<DdpStrategy*>(data_parallel.get()) == nullptr)
    throw UsageError("trainer.mesh.tensor: ", tensor, ", and strategy ", placement.strategy.name,
                     " is not derived from DdpStrategy; set mesh.tensor to 1");
  return std::make_unique<TensorParallelStrategy>(
      std::move(mesh), std::unique_ptr<DdpStrategy>(static_cast<DdpStrategy*>(data_parallel.release())));
}

std::unique_ptr<Strategy> make_bare_strategy(const Placement& placement, const ResolvedOptions& options,
                                             ProcessGroup* ranks, const LightningModule& module) {
  if (placement.strategy.has_ranks()) return make_strategy_of_ranks(placement, options, *ranks);
  if (!placement.asked_for && is_placed_by_user(module))
    return std::make_unique<SingleDeviceStrategy>(module.parameters().front().device(), /*moves_module=*/false);
  return make_chosen(options, parts_of(placement, options, nullptr));
}

}  // namespace

Placement placement_for_dry_run(const ResolvedOptions& options, const VisibleGpus& gpus) {
  if (!options.strategy().has_ranks()) return choose_placement(options, gpus);
  const int64_t local = std::max(1, options->devices.count(gpus.count));
  Placement placement;
  placement.strategy = options.strategy();
  placement.num_nodes = options->num_nodes;
  placement.is_dry_run = placement.asked_for = true;
  const bool on_gpu = gpus.count > 0 && options->accelerator != Accelerator::Cpu;
  placement.devices = {on_gpu ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU)};
  placement.environment = LaunchEnvironment{.launcher = "a plan",
                                            .world_size = local * placement.num_nodes,
                                            .local_world_size = local,
                                            .master_addr = "127.0.0.1"};
  return placement;
}

Placement choose_placement(const ResolvedOptions& options, const VisibleGpus& gpus,
                           const std::optional<LaunchEnvironment>& environment) {
  Placement placement;
  placement.devices = choose_devices(options.devices_option(), options->accelerator, options->devices, gpus);
  placement.strategy = options.strategy();
  placement.num_nodes = options->num_nodes;
  if (environment && environment->world_size > 1) place_rank(options, *environment, placement);
  if (const auto dp = strategy_options<DPOptions>(options->strategy))
    choose_output_device(dp->output_device, placement.devices);  // throws for a GPU that is none of them
  placement.asked_for = options.asks_for_devices();
  return placement;
}

ResolvedOptions resolve_here(TrainerOptions given, std::vector<Contradiction>* contradictions) {
  const std::optional<LaunchEnvironment> environment = find_launch_environment();
  return resolve(std::move(given),
                 {.environment = environment ? &*environment : nullptr, .contradictions = contradictions});
}

Placement place_here(const ResolvedOptions& options) {
  return choose_placement(options, visible_gpus(), find_launch_environment());
}

PlacedOptions resolve_and_place_here(TrainerOptions given) {
  ResolvedOptions options = resolve_here(std::move(given));
  Placement placement = place_here(options);
  return {std::move(options), std::move(placement)};
}

std::unique_ptr<Strategy> make_strategy(const Placement& placement, const ResolvedOptions& options, ProcessGroup* ranks,
                                        const LightningModule& module, Profiler* profiler) {
  std::unique_ptr<Strategy> strategy = make_bare_strategy(placement, options, ranks, module);
  if (options->auto_microbatch) strategy = std::make_unique<AutoMicrobatch>(std::move(strategy));
  if (profiler != nullptr) strategy = std::make_unique<ProfiledStrategy>(std::move(strategy), *profiler);
  return strategy;
}

}  // namespace levin
