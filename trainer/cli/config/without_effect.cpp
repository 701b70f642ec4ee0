#include <levin/trainer/cli/config/without_effect.h>
#include <levin/trainer/cli/config/run_options.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/launch/environment.h>

#include <algorithm>
#include <filesystem>
#include <functional>
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

/// Gives the value of an option beside another one, or its default.
using Beside = std::function<Json(const std::string&)>;

/// An option of a class that others of the same part leave without effect.
struct Idle {
  std::vector<std::string> classes;
  std::vector<std::string> options;
  std::function<bool(const Beside&)> is_idle;
  std::string why;
};

std::function<bool(const Beside&)> is_zero(const std::string& option) {
  return [option](const Beside& value) { return value(option) == 0; };
}

std::function<bool(const Beside&)> is_unset(const std::string& option) {
  return [option](const Beside& value) { return value(option).empty() || value(option) == ""; };
}

std::function<bool(const Beside&)> is_set(const std::string& option) {
  return [option](const Beside& value) { return !is_unset(option)(value); };
}

std::function<bool(const Beside&)> is_off(const std::string& option) {
  return [option](const Beside& value) { return value(option) == false; };
}

std::function<bool(const Beside&)> is_other_than(const std::string& option, const std::vector<std::string>& values) {
  return [option, values](const Beside& value) {
    return std::find(values.begin(), values.end(), value(option)) == values.end();
  };
}

bool has_val_folder(const Beside& value) {
  const std::filesystem::path root = value("root").get<std::string>();
  std::error_code none;
  return std::filesystem::is_directory(root / "train", none) && std::filesystem::is_directory(root / "val", none);
}

const std::vector<Idle>& idle_options() {
  const std::vector<std::string> models = {"ImageClassifier", "LanguageModel", "MLPClassifier",
                                           "MLPRegressor",    "ProgramModule", "ScriptModule"};
  const std::vector<std::string> data = {"MNIST",           "FashionMNIST", "CIFAR10", "CIFAR100", "ImageFolder",
                                         "SyntheticDigits", "Csv",          "Npy",     "Tar",      "Text"};
  static const std::vector<Idle> all = {
      {models, {"weights_strict", "weights_prefix"}, is_unset("weights"), "weights names no file"},
      {{"ImageClassifier"}, {"hidden"}, is_other_than("net", {"mlp", "mlp_bn"}), "only mlp and mlp_bn have that layer"},
      {{"ImageClassifier"}, {"small_input"}, is_other_than("net", {"resnet18"}), "it is for net resnet18"},
      {data, {"prefetch_factor", "timeout_seconds"}, is_zero("num_workers"), "num_workers is 0"},
      {{"Tar"}, {"shuffle_buffer"}, is_off("shuffle"), "shuffle is false"},
      {{"Csv"}, {"ignore"}, is_set("features"), "features names the columns that count"},
      {{"Csv", "Npy", "ImageFolder"}, {"split_seed"}, is_zero("val_fraction"), "val_fraction is 0"},
      {{"ImageFolder"}, {"val_fraction", "split_seed"}, has_val_folder, "the validation images are those of root/val"},
      {{"ImageFolder"}, {"resize_size"}, is_other_than("resize", {"center_crop"}), "resize is exact"},
      {{"SGD"}, {"dampening"}, is_zero("momentum"), "momentum is 0"},
      {{"Adam", "NAdam", "RAdam"}, {"decoupled_weight_decay"}, is_zero("weight_decay"), "weight_decay is 0"},
      {{"CyclicLR"}, {"gamma"}, is_other_than("mode", {"exp_range"}), "it belongs to mode exp_range"},
      {{"CyclicLR", "OneCycleLR"},
       {"base_momentum", "max_momentum"},
       is_off("cycle_momentum"),
       "cycle_momentum is false"},
      {{"OneCycleLR"},
       {"epochs", "steps_per_epoch"},
       is_other_than("total_steps", {"auto"}),
       "total_steps says how many"},
      {{"BackboneFinetuning"}, {"rounding"}, is_off("verbose"), "verbose is false"},
      {{"BackboneFinetuning"},
       {"backbone_initial_ratio_lr"},
       [](const Beside& value) { return !value("backbone_initial_lr").is_null(); },
       "backbone_initial_lr is the backbone's rate"},
      {{"BackboneFinetuning"}, {"initial_denom_lr"}, [](const Beside&) { return true; }, "levin knows the rate itself"},
      {{"ModelCheckpoint"}, {"mode"}, is_unset("monitor"), "no metric is watched"},
      {{"WebhookLogger"}, {"mode"}, is_unset("monitor"), "no metric is watched"},
      {{"ModelPruning"},
       {"resample_parameters"},
       is_off("use_lottery_ticket_hypothesis"),
       "use_lottery_ticket_hypothesis is false"},
      {{"StochasticWeightAveraging"}, {"annealing_strategy"}, is_zero("annealing_epochs"), "annealing_epochs is 0"},
      {{"RandomErasing"},
       {"value"},
       [](const Beside& value) { return value("random_value") == true; },
       "random_value draws the values"},
      {{"RandomCrop"}, {"fill"}, is_other_than("padding_mode", {"constant"}), "it belongs to padding_mode constant"},
      {{"Resize", "RandomResizedCrop"},
       {"antialias"},
       is_other_than("interpolation", {"bilinear", "bicubic"}),
       "interpolation is nearest"},
  };
  return all;
}

class WithoutEffect {
 public:
  WithoutEffect(const Schema& schema, const Config& config, bool is_resumed)
      : schema_(schema), config_(config), is_resumed_(is_resumed) {}

  std::vector<std::string> find() {
    rates();
    trainer();
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
    RunOptions options;
    schema_of<RunOptions>().set(&options, "", config_.values);
    const StrategyChoice strategy = choose_strategy(options.trainer);
    if (!is_resumed_ && options.trainer.max_restarts == 0 && options.trainer.resume_optimizer_options == "present")
      note("trainer.resume_optimizer_options", "no checkpoint is resumed; --ckpt-path names one");
    const auto environment = find_launch_environment();
    if (strategy.has_ranks() || (environment && environment->world_size > 1)) return;
    for (const char* option :
         {"timeout_seconds", "find_unused_parameters", "static_graph", "bucket_cap_mb", "gradient_compression",
          "process_group_backend", "sync_batchnorm", "use_distributed_sampler", "replace_sampler_ddp"})
      note(join_path("trainer", option), strategy.name() + " trains in one process");
  }

  /// Looks at a part and at those inside it.
  void parts(const std::string& path, const Json& value) {
    if (value.is_array())
      for (size_t i = 0; i < value.size(); ++i) parts(item_path(path, i), value[i]);
    if (!value.is_object()) return;
    const std::string name = class_name_of(value.contains("class") ? value : default_of(path));
    for (const Idle& idle : idle_options()) {
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
    return find_option(schema_, config_.values, keys_of(path)).by_default;
  } catch (const UsageError&) {
    return nullptr;
  }

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
  const bool is_resumed_;
  std::vector<std::string> texts_ = {};
};

}  // namespace

std::vector<std::string> options_without_effect(const Schema& schema, const Config& config, bool is_resumed) try {
  return WithoutEffect(schema, config, is_resumed).find();
} catch (const UsageError&) {
  return {};  // a module with other options
}

}  // namespace levin::cli
