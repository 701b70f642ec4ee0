#pragma once
#include <levin/trainer/options/trainer_options.h>
#include <levin/trainer/strategies/strategy_choice.h>

#include <string>
#include <vector>

namespace levin {

/// Two options whose values contradict each other.
struct Contradiction {
  std::string one = {}, other = {};  ///< names of TrainerOptions' fields
  std::string why = {};
};

/// Returns all pairs of options that contradict each other. `options` are as they were given, and `strategy` is the one
/// that was chosen for them.
std::vector<Contradiction> contradictions(const TrainerOptions& options, const StrategyChoice& strategy);

/// Returns an error for each value that this version cannot run, whatever the other options are.
std::vector<std::string> unsupported_values(const TrainerOptions& options);

}  // namespace levin
