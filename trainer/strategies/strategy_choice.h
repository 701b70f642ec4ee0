#pragma once
#include <levin/trainer/strategies/registry.h>

#include <string>

namespace levin {

/// The name that leaves the choice to the devices.
inline constexpr const char* kAutoStrategy = "auto";

/// The strategy of a run and the reason for the choice.
struct StrategyChoice {
  std::string name = "single_device";
  StrategyTraits traits = {};
  std::string why = "one device";  ///< "several gpus on one machine"

  bool has_ranks() const { return traits.has_ranks; }
  bool is_one_device() const { return !traits.has_ranks && !traits.has_replicas; }
};

/// Returns the choice of a strategy by its name, "ddp_spawn" as ddp. Throws UsageError for an unknown name.
StrategyChoice strategy_named(const std::string& name, std::string why);

/// Returns `given` if it names that strategy, or one that stands for it; otherwise that strategy with its default
/// options.
ClassChoice<StrategyKind> strategy_of_name(const ClassChoice<StrategyKind>& given, const std::string& name);

}  // namespace levin
