#include <levin/program/config/without_effect.h>
#include <levin/core/system/error.h>
#include <levin/program/config/run_options.h>
#include <levin/trainer/launch/environment.h>

#include <algorithm>
#include <filesystem>
#include <functional>
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

/// The option is a list of which no item, or a number that, differs from 0.
std::function<bool(const Beside&)> is_all_zero(const std::string& option) {
  return [option](const Beside& value) {
    const Json given = value(option);
    return given.is_array() ? std::all_of(given.begin(), given.end(), [](const Json& one) { return one == 0; })
                            : given == 0;
  };
}

std::function<bool(const Beside&)> are_all(std::vector<std::function<bool(const Beside&)>> conditions) {
  return [conditions = std::move(conditions)](const Beside& value) {
    return std::all_of(conditions.begin(), conditions.end(), [&](const auto& holds) { return holds(value); });
  };
}

bool always(const Beside& /*value*/) { return true; }

bool has_no_npz(const Beside& value) {
  const auto is_npz = [&](const char* option) {
    const Json file = value(option);
    return file.is_string() && file.get<std::string>().ends_with(".npz");
  };
  return !is_npz("input") && !is_npz("val_input") && !is_npz("test_input");
}

bool tells_no_best(const Beside& value) {
  const Json events = value("events");
  return std::find(events.begin(), events.end(), "best") == events.end();
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
      {{"MLPClassifier", "MLPRegressor"},
       {"category_sizes"},
       is_unset("features"),
       "features is unset, so that the data say both"},
      {{"MLPClassifier", "MLPRegressor"},
       {"embedding"},
       are_all({is_set("features"), is_unset("category_sizes")}),
       "there are no categories"},
      {{"MLPClassifier", "MLPRegressor"}, {"batch_norm", "dropout"}, is_unset("hidden"), "there is no hidden layer"},
      {data, {"prefetch_factor", "timeout_seconds"}, is_zero("num_workers"), "num_workers is 0"},
      {{"MNIST", "FashionMNIST", "CIFAR10", "CIFAR100"}, {"url"}, is_off("download"), "download is false"},
      {{"Tar"},
       {"val_transforms"},
       are_all({is_unset("val_shards"), is_unset("test_shards")}),
       "there are neither val_shards nor test_shards"},
      {{"Tar"}, {"shuffle_buffer"}, is_off("shuffle"), "shuffle is false"},
      {{"Csv"}, {"ignore"}, is_set("features"), "features names the columns that count"},
      {{"Csv"}, {"unknown"}, is_unset("categories"), "there are no categories"},
      {{"Csv"}, {"target_type"}, is_unset("target"), "target names no column"},
      {{"Npy"}, {"divide_by"}, is_other_than("dtype", {"float32"}), "dtype is not float32"},
      {{"Npy"}, {"input_key", "target_key"}, has_no_npz, "no file is a .npz file"},
      {{"Csv", "Npy", "ImageFolder"}, {"split_seed"}, is_zero("val_fraction"), "val_fraction is 0"},
      {{"ImageFolder"}, {"val_fraction", "split_seed"}, has_val_folder, "the validation images are those of root/val"},
      {{"ImageFolder"}, {"resize_size"}, is_other_than("resize", {"center_crop"}), "resize is exact"},
      {{"SGD"}, {"dampening"}, is_zero("momentum"), "momentum is 0"},
      {{"LARS"}, {"nesterov"}, is_zero("momentum"), "momentum is 0"},
      {{"Adam", "NAdam", "RAdam"}, {"decoupled_weight_decay"}, is_zero("weight_decay"), "weight_decay is 0"},
      {{"CyclicLR"}, {"gamma"}, is_other_than("mode", {"exp_range"}), "it belongs to mode exp_range"},
      {{"CyclicLR"}, {"scale_mode"}, always, "it belongs to scale_fn, which a config cannot hold"},
      {{"WarmupCosine"}, {"warmup_start_factor"}, is_zero("warmup_steps"), "warmup_steps is 0"},
      {{"ReduceLROnPlateau"}, {"threshold_mode"}, is_zero("threshold"), "threshold is 0"},
      {{"SWALR"}, {"anneal_strategy"}, is_zero("anneal_epochs"), "anneal_epochs is 0"},
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
      {{"BackboneFinetuning"}, {"initial_denom_lr"}, always, "levin knows the rate itself"},
      {{"ModelCheckpoint"}, {"mode"}, is_unset("monitor"), "no metric is watched"},
      {{"ModelCheckpoint"},
       {"save_on_train_epoch_end"},
       is_set("every_n_train_steps"),
       "every_n_train_steps says when to save"},
      {{"ModelCheckpoint"},
       {"save_on_train_epoch_end"},
       is_set("train_time_interval"),
       "train_time_interval says when to save"},
      {{"EMAWeightAveraging"},
       {"update_starting_at_step"},
       is_zero("update_every_n_steps"),
       "update_every_n_steps is 0"},
      {{"ThroughputMonitor"}, {"available_flops"}, is_off("count_flops"), "count_flops is false"},
      {{"Timer"}, {"interval", "verbose"}, is_unset("duration"), "duration is unset"},
      {{"BatchSizeFinder"},
       {"margin"},
       are_all({is_set("memory_limit_bytes"), is_other_than("mode", {"binsearch"})}),
       "memory_limit_bytes is taken as it is"},
      {{"MLflowLogger"},
       {"experiment_name", "artifact_location", "run_name"},
       is_set("run_id"),
       "run_id names a run that exists"},
      {{"WebhookLogger"}, {"monitor", "mode"}, tells_no_best, "events lacks best"},
      {{"WebhookLogger"}, {"mode"}, is_unset("monitor"), "no metric is watched"},
      {{"ModelPruning"},
       {"resample_parameters"},
       is_off("use_lottery_ticket_hypothesis"),
       "use_lottery_ticket_hypothesis is false"},
      {{"ModelPruning"},
       {"pruning_dim"},
       is_other_than("pruning_fn", {"ln_structured", "random_structured"}),
       "only structured pruning takes slices"},
      {{"ModelPruning"},
       {"pruning_norm"},
       is_other_than("pruning_fn", {"ln_structured"}),
       "it belongs to ln_structured"},
      {{"ModelPruning"},
       {"parameter_names"},
       is_set("parameters_to_prune"),
       "parameters_to_prune names the parameters"},
      {{"ModelPruning"},
       {"amount", "use_global_unstructured", "use_lottery_ticket_hypothesis", "prune_on_train_epoch_end"},
       is_off("apply_pruning"),
       "apply_pruning is false"},
      {{"StochasticWeightAveraging"}, {"annealing_strategy"}, is_zero("annealing_epochs"), "annealing_epochs is 0"},
      {{"RandomErasing"},
       {"value"},
       [](const Beside& value) { return value("random_value") == true; },
       "random_value draws the values"},
      {{"RandomCrop"},
       {"padding_mode", "fill"},
       are_all({is_all_zero("padding"), is_off("pad_if_needed")}),
       "there is no padding"},
      {{"RandomCrop"}, {"fill"}, is_other_than("padding_mode", {"constant"}), "it belongs to padding_mode constant"},
      {{"Resize", "RandomResizedCrop"},
       {"antialias"},
       is_other_than("interpolation", {"bilinear", "bicubic"}),
       "interpolation is nearest"},
  };
  return all;
}

/// Returns whether a strategy of ranks would start one alone. The number of GPUs is not known here.
bool asks_for_one_rank(const TrainerOptions& options) {
  const Devices& asked = options.gpus.is_set() ? options.gpus : options.devices;
  const int all = options.accelerator == Accelerator::Cpu ? 1 : 2;
  const int64_t local = asked.is_list() ? static_cast<int64_t>(asked.ids().size()) : asked.count(all);
  return local == 1 && std::max(options.num_nodes, options.nb_gpu_nodes.value_or(1)) == 1;
}

class WithoutEffect {
 public:
  WithoutEffect(const Schema& schema, const Config& config, bool is_resumed)
      : schema_(schema), config_(config), is_resumed_(is_resumed) {}

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
    RunOptions options;
    schema_of<RunOptions>().set(&options, "", config_.values);
    const StrategyChoice strategy = choose_strategy(options.trainer);
    if (!is_resumed_ && options.trainer.max_restarts == 0)
      for (const char* option : {"resume_optimizer_options", "keep_global_batch"})
        note(join_path("trainer", option), "no checkpoint is resumed; --ckpt-path names one");
    if (!options.seed && !options.trainer.seed) note("trainer.random_generator", "there is no seed");
    if (!options.trainer.handle_signals)
      for (const char* option : {"on_sigusr1", "on_sigusr2"})
        note(join_path("trainer", option), "trainer.handle_signals is false");
    if (options.trainer.accelerator == Accelerator::Cpu) note("trainer.benchmark", "the CPU has no cuDNN");
    const auto environment = find_launch_environment();
    if (environment && environment->world_size > 1) return;
    if (strategy.has_ranks() && asks_for_one_rank(options.trainer))
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
