#include <levin/trainer/options/placement.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/strategies/auto_microbatch.h>
#include <levin/trainer/strategies/data_parallel.h>
#include <levin/trainer/strategies/ddp.h>
#include <levin/trainer/strategies/fsdp.h>
#include <levin/trainer/strategies/profiled_strategy.h>
#include <levin/trainer/strategies/single_device.h>
#include <levin/trainer/strategies/tensor_parallel.h>
#include <levin/trainer/strategies/zero1.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace levin {
namespace {

/// Returns the dtype that an option names; nullopt for "none".
std::optional<at::ScalarType> sent_as(const std::string& compression) {
  if (compression == "fp16") return at::kHalf;
  if (compression == "bf16") return at::kBFloat16;
  return {};
}

/// Keeps only this rank's device. Throws if the launcher's ranks do not match the options.
void place_rank(const TrainerOptions& given, const LaunchEnvironment& environment, const std::string& option,
                const std::string& accelerator, Placement& placement) {
  const std::string& launcher = environment.launcher;
  if (!placement.strategy.has_ranks() && asked_strategy(given))
    throw UsageError("trainer.strategy: ", placement.strategy.name(), " runs in one process, and ", launcher,
                     " has started ", environment.world_size, " (rank ", environment.rank, " is this one); use ddp");
  const auto here = static_cast<size_t>(environment.local_world_size);
  const bool asked = given.devices.is_set() || given.gpus.is_set();
  if (asked && placement.devices.size() != here)
    throw UsageError(option, " asks for ", placement.devices.size(), " on each machine, and ", launcher,
                     " has started ", here, " ranks on this one; let it start as many, or leave ", option, " unset");
  const int64_t nodes = std::max(given.num_nodes, given.nb_gpu_nodes.value_or(1));
  if (nodes != 1 && nodes != environment.num_nodes())
    throw UsageError("trainer.num_nodes: ", nodes, " machines, and ", launcher, " has started ranks on ",
                     environment.num_nodes(), "; leave num_nodes unset");
  const auto local_rank = static_cast<size_t>(environment.local_rank);
  if (accelerator == "cpu") {
    placement.devices = {c10::kCPU};
  } else if (asked) {
    placement.devices = {placement.devices[local_rank]};
  } else {
    placement.devices = {
        choose_devices(option, accelerator, Devices(std::vector<int>{static_cast<int>(local_rank)}), visible_gpus())
            .front()};
  }
  placement.strategy = {placement.strategy.has_ranks() ? placement.strategy.kind : StrategyKind::Ddp,
                        c10::str(environment.world_size, " ranks of ", launcher)};
  placement.environment = environment;
  placement.num_nodes = environment.num_nodes();
}

/// Returns whether the user has placed parts of the module on other devices than the CPU.
bool is_placed_by_user(const LightningModule& module) {
  const std::vector<at::Tensor> parameters = module.parameters();
  return std::any_of(parameters.begin(), parameters.end(), [](const at::Tensor& one) { return !one.is_cpu(); });
}

std::unique_ptr<DdpStrategy> make_ranked_strategy(const Placement& placement, const ResolvedOptions& options,
                                                  ProcessGroup& ranks) {
  const c10::Device device = placement.devices.front();
  if (placement.strategy.kind == StrategyKind::Fsdp)
    return std::make_unique<FsdpStrategy>(ranks, device, sharding_options(options), options.sync_batchnorm);
  const parallel::DistributedDataParallelOptions ddp = ddp_options(options, placement.strategy);
  if (placement.strategy.kind == StrategyKind::Zero1)
    return std::make_unique<Zero1Strategy>(ranks, device, ddp, options.sync_batchnorm);
  return std::make_unique<DdpStrategy>(ranks, device, ddp, options.sync_batchnorm);
}

/// Makes a strategy over the ranks, which are a mesh if options say so.
std::unique_ptr<Strategy> make_strategy_of_ranks(const Placement& placement, const ResolvedOptions& options,
                                                 ProcessGroup& ranks) {
  const int64_t shard = std::max<int64_t>(options.mesh.shard, 1), tensor = options.mesh.tensor;
  if (ranks.world_size() % (shard * tensor) != 0)
    throw UsageError("trainer.mesh: shard ", shard, " times tensor ", tensor, " is ", shard * tensor,
                     ", which does not divide the ", ranks.world_size(),
                     " ranks; change trainer.devices or trainer.mesh");
  if (tensor == 1) return make_ranked_strategy(placement, options, ranks);
  auto mesh = std::make_unique<RankMesh>(ranks, tensor);
  std::unique_ptr<DdpStrategy> data_parallel = make_ranked_strategy(placement, options, mesh->data());
  return std::make_unique<TensorParallelStrategy>(std::move(mesh), std::move(data_parallel));
}

std::unique_ptr<Strategy> make_bare_strategy(const Placement& placement, const ResolvedOptions& options,
                                             ProcessGroup* ranks, const LightningModule& module) {
  const c10::Device device = placement.devices.front();
  if (!placement.strategy.has_ranks() && !placement.asked_for && is_placed_by_user(module))
    return std::make_unique<SingleDeviceStrategy>(module.parameters().front().device(), /*moves_module=*/false);
  switch (placement.strategy.kind) {
    case StrategyKind::SingleDevice:
      break;
    case StrategyKind::DataParallel:
      return std::make_unique<DataParallelStrategy>(placement.devices, placement.output_device,
                                                    /*in_order=*/static_cast<bool>(options.deterministic));
    case StrategyKind::Ddp:
    case StrategyKind::Zero1:
    case StrategyKind::Fsdp:
      return make_strategy_of_ranks(placement, options, *ranks);
  }
  return std::make_unique<SingleDeviceStrategy>(device);
}

}  // namespace

Placement placement_for_dry_run(const TrainerOptions& given, const VisibleGpus& gpus) {
  StrategyChoice strategy = choose_strategy(given);
  if (!strategy.has_ranks()) return choose_placement(given, gpus);
  const Devices& asked = given.gpus.is_set() ? given.gpus : given.devices;
  const int64_t local = std::max(1, asked.is_list() ? static_cast<int>(asked.ids().size()) : asked.count(gpus.count));
  Placement placement;
  placement.strategy = std::move(strategy);
  placement.num_nodes = std::max(given.num_nodes, given.nb_gpu_nodes.value_or(1));
  placement.is_dry_run = placement.asked_for = true;
  const bool on_gpu = gpus.count > 0 && given.accelerator != "cpu";
  placement.devices = {on_gpu ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU)};
  placement.output_device = placement.devices.front();
  placement.environment = LaunchEnvironment{.launcher = "a plan",
                                            .world_size = local * placement.num_nodes,
                                            .local_world_size = local,
                                            .master_addr = "127.0.0.1"};
  return placement;
}

Placement choose_placement(const TrainerOptions& given, const VisibleGpus& gpus,
                           const std::optional<LaunchEnvironment>& environment) {
  const bool early = given.gpus.is_set();
  const bool no_gpus = early && !given.gpus.is_list() && given.gpus.count(/*all=*/1) == 0;
  const std::string option = early                    ? "trainer.gpus"
                             : given.devices.is_set() ? "trainer.devices"
                                                      : "trainer.accelerator";
  const std::string accelerator = no_gpus ? "cpu" : early ? "gpu" : resolve_accelerator(given.accelerator, gpus);
  Placement placement;
  placement.devices = choose_devices(option, accelerator, early && !no_gpus ? given.gpus : given.devices, gpus);
  placement.strategy = choose_strategy(given);
  placement.num_nodes = std::max(given.num_nodes, given.nb_gpu_nodes.value_or(1));
  if (environment && environment->world_size > 1) place_rank(given, *environment, option, accelerator, placement);
  placement.output_device = choose_output_device(given.output_device, placement.devices);
  placement.asked_for = early || given.devices.is_set() || given.accelerator != "auto";
  return placement;
}

parallel::DistributedDataParallelOptions ddp_options(const TrainerOptions& options, const StrategyChoice& strategy) {
  using parallel::GradientCompression;
  return {.bucket_cap_mb = options.bucket_cap_mb,
          .find_unused_parameters = options.find_unused_parameters,
          .static_graph = options.static_graph,
          .compression = options.gradient_compression == "fp16"   ? GradientCompression::Float16
                         : options.gradient_compression == "bf16" ? GradientCompression::BFloat16
                                                                  : GradientCompression::None,
          .shard_gradients = strategy.shards()};
}

parallel::ShardingOptions sharding_options(const TrainerOptions& options) {
  return {.keep_parameters = options.shard == "gradients",
          .find_unused_parameters = options.find_unused_parameters,
          .hybrid_shard = options.mesh.shard > 0 ? options.mesh.shard : options.hybrid_shard,
          .reduce_each_batch = options.reduce_each_batch,
          .gather_dtype = sent_as(options.parameter_compression),
          .reduce_dtype = sent_as(options.gradient_compression)};
}

std::unique_ptr<Strategy> make_strategy(const Placement& placement, const ResolvedOptions& options, ProcessGroup* ranks,
                                        const LightningModule& module, Profiler* profiler) {
  std::unique_ptr<Strategy> strategy = make_bare_strategy(placement, options, ranks, module);
  if (options.auto_microbatch) strategy = std::make_unique<AutoMicrobatch>(std::move(strategy));
  if (profiler != nullptr) strategy = std::make_unique<ProfiledStrategy>(std::move(strategy), *profiler);
  return strategy;
}

}  // namespace levin
