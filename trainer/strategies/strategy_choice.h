#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace levin {

enum class StrategyKind : uint8_t { SingleDevice, DataParallel, Ddp, Zero1, Fsdp };

/// What the kinds of strategies differ in, for code that must know before a strategy is made.
struct StrategyTraits {
  const char* name;  ///< as in TrainerOptions::strategy
  bool has_ranks;    ///< each device has its own process
  bool shards;       ///< each rank holds only its shard of the optimizer's state
};

constexpr StrategyTraits traits_of(StrategyKind kind) {
  switch (kind) {
    case StrategyKind::SingleDevice:
      return {.name = "single_device", .has_ranks = false, .shards = false};
    case StrategyKind::DataParallel:
      return {.name = "dp", .has_ranks = false, .shards = false};
    case StrategyKind::Ddp:
      return {.name = "ddp", .has_ranks = true, .shards = false};
    case StrategyKind::Zero1:
      return {.name = "zero1", .has_ranks = true, .shards = true};
    case StrategyKind::Fsdp:
      break;
  }
  return {.name = "fsdp", .has_ranks = true, .shards = true};
}

/// Returns the kind that an option names, also in the early spelling ddp_spawn; nullopt for another text ("auto").
constexpr std::optional<StrategyKind> strategy_named(std::string_view name) {
  if (name == "ddp_spawn") return StrategyKind::Ddp;
  for (const StrategyKind kind : {StrategyKind::SingleDevice, StrategyKind::DataParallel, StrategyKind::Ddp,
                                  StrategyKind::Zero1, StrategyKind::Fsdp})
    if (name == traits_of(kind).name) return kind;
  return {};
}

/// The strategy of a run and the reason for the choice.
struct StrategyChoice {
  StrategyKind kind = StrategyKind::SingleDevice;
  std::string why = "one device";  ///< "several gpus on one machine"

  std::string name() const { return traits_of(kind).name; }
  bool has_ranks() const { return traits_of(kind).has_ranks; }
  bool shards() const { return traits_of(kind).shards; }
};

}  // namespace levin
