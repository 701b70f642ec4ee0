#include <levin/trainer/strategies/registry.h>
#include <levin/core/device/gpu_discovery.h>
#include <levin/trainer/strategies/data_parallel.h>
#include <levin/trainer/strategies/ddp.h>
#include <levin/trainer/strategies/fsdp.h>
#include <levin/trainer/strategies/single_device.h>
#include <levin/trainer/strategies/zero1.h>

namespace levin {
namespace {

constexpr StrategyTraits kOneDevice = {.is_plain = true, .class_name = "SingleDeviceStrategy"};
constexpr StrategyTraits kReplicas = {.has_replicas = true, .class_name = "DataParallelStrategy"};
constexpr StrategyTraits kRanks = {.has_ranks = true, .class_name = "DDPStrategy"};
constexpr StrategyTraits kZero1 = {.has_ranks = true, .shards_optimizer = true, .class_name = "Zero1Strategy"};
constexpr StrategyTraits kShards = {
    .has_ranks = true, .shards_optimizer = true, .shards_parameters = true, .class_name = "FSDPStrategy"};

std::unique_ptr<Strategy> make_single_device(const void* /*options*/, const StrategyParts& parts) {
  return std::make_unique<SingleDeviceStrategy>(parts);
}

std::unique_ptr<Strategy> make_data_parallel(const void* options, const StrategyParts& parts) {
  const std::optional<int64_t> output = static_cast<const DPOptions*>(options)->output_device;
  return std::make_unique<DataParallelStrategy>(parts.devices, choose_output_device(output, parts.devices),
                                                /*in_order=*/parts.deterministic);
}

std::unique_ptr<Strategy> make_ddp(const void* options, const StrategyParts& parts) {
  return std::make_unique<DdpStrategy>(parts, *static_cast<const DDPOptions*>(options));
}

std::unique_ptr<Strategy> make_zero1(const void* options, const StrategyParts& parts) {
  const auto reduction = reducer_options(*static_cast<const DDPOptions*>(options), /*shards_optimizer=*/true);
  return std::make_unique<Zero1Strategy>(*parts.ranks, parts.devices.front(), reduction, parts.sync_batchnorm);
}

std::unique_ptr<Strategy> make_fsdp(const void* options, const StrategyParts& parts) {
  return std::make_unique<FsdpStrategy>(*parts.ranks, parts.devices.front(), *static_cast<const FSDPOptions*>(options),
                                        parts.sharing_ranks, parts.sync_batchnorm);
}

/// Registers levin's strategies.
void register_builtins(Registry<StrategyKind::Entry>& registry) {
  registry.add<NoOptions>("auto",
                          "ddp for several devices, machines or ranks of a launcher, dp for several gpus in the early "
                          "spelling, else one device",
                          {kOneDevice, make_single_device});
  registry.add<NoOptions>("single_device", "One process and one device", {kOneDevice, make_single_device});
  registry.add<DPOptions>("dp", "One process, and copies of the module on several devices",
                          {kReplicas, make_data_parallel});
  registry.add<DDPOptions>("ddp", "A process for each device; gradients are averaged", {kRanks, make_ddp});
  registry.add<DDPOptions>("ddp_spawn", "Early spelling of ddp", {kRanks, make_ddp});
  registry.add<DDPOptions>("zero1", "ddp, with the optimizer's state divided among the ranks", {kZero1, make_zero1});
  registry.add<FSDPOptions>("fsdp", "ddp, with parameters, gradients and optimizer state divided among the ranks",
                            {kShards, make_fsdp});
}

}  // namespace

std::unique_ptr<Strategy> StrategyKind::Entry::operator()(const void* options, const StrategyParts& parts) const {
  return make(options, parts);
}

Registry<StrategyKind::Entry>& StrategyKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("strategy", "strategies");
    register_builtins(made);
    return made;
  }();
  return registry;
}

const OptionType& OptionTraits<ClassChoice<StrategyKind>>::type() { return part_type<StrategyKind>(); }

}  // namespace levin
