#include <levin/trainer/cli/config/without_effect.h>
#include <levin/trainer/core/system/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

constexpr const char* kScheduler = "model.lr_scheduler";

/// The scheduler that sets its own rates instead of using the optimizer's.
struct OwnRates {
  std::string scheduler = {};  ///< empty: the schedule starts at the optimizer's rate
  std::string option = {};     ///< the path of its highest or first rate
};

OwnRates own_rates(const Json& scheduler, const std::string& path) {
  const std::string name = class_name_of(scheduler);
  if (name == "OneCycleLR") return {name, join_path(path, "max_lr")};
  if (name == "CyclicLR") return {name, join_path(path, "base_lr")};
  const Json* const inner = find_value(scheduler, {"schedulers"});
  if ((name != "SequentialLR" && name != "ChainedScheduler") || !inner || !inner->is_array()) return {};
  // In a SequentialLR the first schedule sets the initial rates of all. In a chain, any schedule with its own rates
  // overrides the others.
  const size_t count = name == "SequentialLR" ? std::min<size_t>(inner->size(), 1) : inner->size();
  for (size_t i = 0; i < count; ++i)
    if (OwnRates found = own_rates((*inner)[i], item_path(join_path(path, "schedulers"), i)); !found.scheduler.empty())
      return found;
  return {};
}

class WithoutEffect {
 public:
  WithoutEffect(const Schema& schema, const Config& config) : schema_(schema), config_(config) {}

  std::vector<std::string> find() {
    const Json* const scheduler = find_value(config_.values, keys_of(kScheduler));
    if (!scheduler) return {};
    const OwnRates rates = own_rates(*scheduler, kScheduler);
    if (!rates.scheduler.empty()) {
      const std::string decides = rates.scheduler + " takes its rates from " + rates.option;
      note("model.optimizer.lr", decides);
      note("trainer.auto_lr_find", decides + "; give it the rate that is found");
    }
    const std::string name = class_name_of(*scheduler);
    if (!name.empty() && name != "ReduceLROnPlateau")
      for (const char* option : {"monitor", "strict"}) note(join_path(kScheduler, option), name + " follows no metric");
    return texts_;
  }

 private:
  /// Adds a text for the option if it was set.
  void note(const std::string& path, const std::string& why) {
    const auto origin = config_.origins.find(path);
    const Json* const value = find_value(config_.values, keys_of(path));
    if (origin == config_.origins.end() || !value) return;
    const bool on_command_line = origin->second.starts_with("--") || origin->second.starts_with("LEVIN__");
    if (!on_command_line && *value == find_option(schema_, config_.values, keys_of(path)).by_default) return;
    const std::string name = on_command_line ? origin->second : path + " (" + origin->second + ")";
    texts_.push_back(name + " has no effect: " + why);
  }

  const Schema& schema_;
  const Config& config_;
  std::vector<std::string> texts_ = {};
};

}  // namespace

std::vector<std::string> options_without_effect(const Schema& schema, const Config& config) try {
  return WithoutEffect(schema, config).find();
} catch (const UsageError&) {
  return {};  // a module with other options
}

}  // namespace levin::cli
