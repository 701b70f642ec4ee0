#include <levin/program/config/without_effect.h>
#include <levin/core/system/error.h>
#include <levin/program/config/idle_options.h>
#include <levin/program/config/run_options.h>
#include <levin/trainer/launch/environment.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

constexpr const char *kScheduler = "model.lr_scheduler", *kCallbacks = "trainer.callbacks";

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

/// Returns whether a strategy of ranks would start one alone. The number of GPUs is not known here.
bool asks_for_one_rank(const ResolvedOptions& options) {
  const int all = options->accelerator == Accelerator::Cpu ? 1 : 2;
  return options->devices.count(all) == 1 && options->num_nodes == 1;
}

class WithoutEffect {
 public:
  WithoutEffect(const Config& config, const ReadOptions& options, bool is_resumed)
      : config_(config), options_(options), is_resumed_(is_resumed) {}

  std::vector<std::string> find() {
    rates();
    trainer();
    finetuning();
    for (const auto& [section, value] : config_.values.items()) parts(section, value);
    return texts_;
  }

 private:
  void rates() {
    const Json* const scheduler = find_value(config_.values, keys_of(kScheduler));
    if (!scheduler) return;
    const OwnRates rates = own_rates(*scheduler, kScheduler);
    if (!rates.scheduler.empty()) {
      const std::string decides = rates.scheduler + " takes its rates from " + rates.option;
      note("model.optimizer.lr", decides);
      note("trainer.auto_lr_find", decides + "; give it the rate that is found");
    }
    const std::string name = class_name_of(*scheduler);
    if (!name.empty() && name != "ReduceLROnPlateau")
      for (const char* option : {"monitor", "strict"}) note(join_path(kScheduler, option), name + " follows no metric");
  }

  void trainer() {
    const Beside value = beside("trainer");
    if (const Json limit = value("gradient_clip_val"); limit.is_null() || limit <= 0)
      note("trainer.gradient_clip_algorithm", "trainer.gradient_clip_val sets no limit");
    if (value("limit_val_batches") == 0)
      for (const char* option : {"num_sanity_val_steps", "val_check_interval"})
        note(join_path("trainer", option), "trainer.limit_val_batches is 0");
    const StrategyChoice& strategy = options_.resolved.strategy();
    if (!is_resumed_ && options_.trainer.max_restarts == 0)
      for (const char* option : {"resume_optimizer_options", "keep_global_batch"})
        note(join_path("trainer", option), "no checkpoint is resumed; --ckpt-path names one");
    if (!options_.trainer.seed) note("trainer.random_generator", "there is no seed");
    if (!options_.trainer.handle_signals)
      for (const char* option : {"on_sigusr1", "on_sigusr2"})
        note(join_path("trainer", option), "trainer.handle_signals is false");
    if (options_.trainer.accelerator == Accelerator::Cpu) note("trainer.benchmark", "the CPU has no cuDNN");
    const auto environment = find_launch_environment();
    if (environment && environment->world_size > 1) return;
    if (strategy.has_ranks() && asks_for_one_rank(options_.resolved))
      for (const char* option :
           {"sync_batchnorm", "use_distributed_sampler", "replace_sampler_ddp", "strategy.bucket_cap_mb"})
        note(join_path("trainer", option), "there is one rank");
    if (strategy.has_ranks()) return;
    for (const char* option : {"timeout_seconds", "process_group_backend", "sync_batchnorm", "use_distributed_sampler",
                               "replace_sampler_ddp", "max_restarts"})
      note(join_path("trainer", option), strategy.name + " trains in one process");
  }

  void finetuning() {
    const Json *const model = find_value(config_.values, {"model"}), *const callbacks = find_value(config_.values,
                                                                                                   keys_of(kCallbacks));
    const std::string name = model ? class_name_of(*model) : "";
    if ((name != "ProgramModule" && name != "ScriptModule") || !callbacks || !callbacks->is_array()) return;
    for (size_t i = 0; i < callbacks->size(); ++i)
      if (class_name_of((*callbacks)[i]) == "BackboneFinetuning")
        note(join_path(item_path(kCallbacks, i), "train_bn"), "batch norms of a " + name + " are not known as such");
  }

  /// Looks at a part and at those inside it.
  void parts(const std::string& path, const Json& value) {
    if (value.is_array())
      for (size_t i = 0; i < value.size(); ++i) parts(item_path(path, i), value[i]);
    if (!value.is_object()) return;
    const std::string name = class_name_of(value.contains("class") ? value : default_of(path));
    for (const IdleOptions& idle : idle_options()) {
      if (std::find(idle.classes.begin(), idle.classes.end(), name) == idle.classes.end()) continue;
      const bool is_written = std::any_of(idle.options.begin(), idle.options.end(),
                                          [&](const std::string& option) { return value.contains(option); });
      if (!is_written || !idle.is_idle(beside(path))) continue;
      for (const std::string& option : idle.options) note(join_path(path, option), idle.why);
    }
    for (const auto& item : value.items()) parts(join_path(path, item.key()), item.value());
  }

  /// Returns what gives the values of the options inside the part at `path`.
  Beside beside(const std::string& path) const {
    return [this, path](const std::string& option) {
      const Json* const written = find_value(config_.values, keys_of(join_path(path, option)));
      return written ? *written : default_of(join_path(path, option));
    };
  }

  /// Returns null if no option has this path, as the keys of a free table.
  Json default_of(const std::string& path) const try {
    return find_option(schema_of<RunOptions>(), config_.values, keys_of(path)).by_default;
  } catch (const UsageError&) {
    return nullptr;
  }

  /// Adds a text for the option if it was set.
  void note(const std::string& path, const std::string& why) {
    const auto origin = config_.origins.find(path);
    const Json* const value = find_value(config_.values, keys_of(path));
    if (origin == config_.origins.end() || !value) return;
    const bool on_command_line = origin->second.starts_with("--") || origin->second.starts_with("LEVIN__");
    if (!on_command_line && *value == find_option(schema_of<RunOptions>(), config_.values, keys_of(path)).by_default)
      return;
    const std::string name = on_command_line ? origin->second : path + " (" + origin->second + ")";
    texts_.push_back(name + " has no effect: " + why);
  }

  const Config& config_;
  const ReadOptions& options_;
  const bool is_resumed_;
  std::vector<std::string> texts_ = {};
};

}  // namespace

std::vector<std::string> options_without_effect(const Config& config, const ReadOptions& options, bool is_resumed) try {
  return WithoutEffect(config, options, is_resumed).find();
} catch (const UsageError&) {
  return {};  // a module with other options
}

}  // namespace levin::cli
