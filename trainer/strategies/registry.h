#pragma once
#include <c10/core/Device.h>
#include <levin/core/options/registry.h>
#include <levin/trainer/strategies/strategy_kind.h>
#include <levin/trainer/strategies/strategy_options.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

class ProcessGroup;
class Strategy;

/// What strategies differ in, for code that must know before one is made.
struct StrategyTraits {
  bool has_ranks = false;          ///< each device has a process of its own
  bool has_replicas = false;       ///< one process trains copies of the module on several devices
  bool shards_optimizer = false;   ///< each rank has a shard of the optimizer's state alone
  bool shards_parameters = false;  ///< and of the parameters, which operations find whole in a RunScope
  bool is_plain = false;           ///< a step is the module's on one device, so that it can be captured or compiled
  const char* class_name = "";     ///< PyTorch Lightning's, for profilers: "DDPStrategy"
};

/// What a strategy is made of.
struct StrategyParts {
  std::vector<c10::Device> devices = {};  ///< of this process; several only if the strategy has replicas
  ProcessGroup* ranks = nullptr;          ///< the data-parallel ranks; null if the strategy has none
  bool sync_batchnorm = false;            ///< batch norms compute their statistics over all ranks
  bool deterministic = false;             ///< replicas run one after another
  int64_t sharing_ranks = 0;              ///< that divide a sharded model among each other; 0: all
};

/// The registry of strategies by name: `"strategy": "ddp"` or `"strategy": {"class": "ddp", "bucket_cap_mb": 50}`; in
/// C++ `.strategy = {"ddp", DDPOptions{.bucket_cap_mb = 50}}`. "auto" stands for the one that the devices ask for, and
/// "ddp_spawn" for ddp.
struct StrategyKind {
  struct Entry {
    StrategyTraits traits = {};
    std::function<std::unique_ptr<Strategy>(const void* options, const StrategyParts& parts)> make = {};

    std::unique_ptr<Strategy> operator()(const void* options, const StrategyParts& parts) const;
  };
  static Registry<Entry>& registry();
};

/// Adds strategy class `S`, which has `static constexpr StrategyTraits kTraits` and is constructed from its parts and,
/// if it has a nested `Options`, from its options.
template <class S>
bool add_strategy(Registry<StrategyKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<OptionsOf<S>>(name, help, {S::kTraits, [](const void* options, const StrategyParts& parts) {
                                            return make_registered<S>(options, parts);
                                          }});
  return true;
}

/// Returns the options of the chosen strategy if they are of this type:
/// `strategy_options<FSDPOptions>(options.strategy)`.
template <class Options>
std::optional<Options> strategy_options(const ClassChoice<StrategyKind>& strategy) {
  const auto& registry = StrategyKind::registry();
  const ClassInfo* const info = registry.find(strategy.class_name());
  if (info == nullptr || &info->schema() != &schema_of<Options>()) return {};
  return *static_cast<const Options*>(strategy.options(registry, "trainer.strategy").get());
}

}  // namespace levin

/// Registers a strategy class for configs. Use it at namespace scope in a .cpp file; the name may be qualified.
#define LEVIN_REGISTER_STRATEGY(Class) \
  LEVIN_REGISTERED =                   \
      ::levin::add_strategy<Class>(::levin::StrategyKind::registry(), ::levin::detail::unqualified(#Class))
