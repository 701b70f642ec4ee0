#include <levin/program/config/idle_options.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::cli {
namespace {

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

/// An index may name URLs.
bool has_local_shards(const Beside& value) {
  for (const char* option : {"shards", "val_shards", "test_shards"})
    for (const Json& shard : value(option)) {
      const std::string name = shard.is_string() ? shard.get<std::string>() : "";
      if (name.find("://") != name.npos || name.ends_with(".txt") || name.ends_with(".json")) return false;
    }
  return true;
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

}  // namespace

const std::vector<IdleOptions>& idle_options() {
  const std::vector<std::string> models = {"ImageClassifier", "LanguageModel", "MLPClassifier",
                                           "MLPRegressor",    "ProgramModule", "ScriptModule"};
  const std::vector<std::string> data = {"MNIST",           "FashionMNIST", "CIFAR10", "CIFAR100", "ImageFolder",
                                         "SyntheticDigits", "Csv",          "Npy",     "Tar",      "Text",
                                         "CsvImages",       "Segmentation"};
  static const std::vector<IdleOptions> all = {
      {models,
       {"weights_strict", "weights_prefix", "weights_add_prefix", "weights_rename"},
       is_unset("weights"),
       "weights names no file"},
      {{"ProgramModule"},
       {"metric_output", "metric_target"},
       is_other_than("metric", {"accuracy", "mean_absolute_error", "mean_squared_error"}),
       "metric is none"},
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
      {{"Mixture"}, {"prefetch_factor", "timeout_seconds"}, is_zero("num_workers"), "num_workers is 0"},
      {{"MNIST", "FashionMNIST", "CIFAR10", "CIFAR100"}, {"url"}, is_off("download"), "download is false"},
      {{"Tar"},
       {"val_transforms"},
       are_all({is_unset("val_shards"), is_unset("test_shards")}),
       "there are neither val_shards nor test_shards"},
      {{"Tar"}, {"shuffle_buffer"}, is_off("shuffle"), "shuffle is false"},
      {{"Tar"}, {"prefetch_shards", "cache_folder", "cache_bytes"}, has_local_shards, "no shard is at a URL"},
      {{"Csv"}, {"ignore"}, is_set("features"), "features names the columns that count"},
      {{"Csv"}, {"unknown"}, is_unset("categories"), "there are no categories"},
      {{"Csv"}, {"target_type"}, is_unset("target"), "target names no column"},
      {{"Npy"}, {"divide_by"}, is_other_than("dtype", {"float32"}), "dtype is not float32"},
      {{"Npy"}, {"input_key", "target_key"}, has_no_npz, "no file is a .npz file"},
      {{"Csv", "Npy", "Parquet", "Hdf5", "JsonLines", "ImageFolder", "CsvImages", "Segmentation"},
       {"split_seed"},
       is_zero("val_fraction"),
       "val_fraction is 0"},
      {{"ImageFolder"}, {"val_fraction", "split_seed"}, has_val_folder, "the validation images are those of root/val"},
      {{"ImageFolder"}, {"resize_size"}, is_other_than("resize", {"center_crop", "exact_crop"}), "resize is exact"},
      {{"ImageFolder"},
       {"image_size", "resize", "resize_size", "interpolation", "mean", "std"},
       is_set("preprocessor"),
       "the folder preprocessor says it"},
      {{"CsvImages"},
       {"image_size", "resize", "interpolation", "mean", "std"},
       is_set("preprocessor"),
       "the folder preprocessor says it"},
      {{"CsvImages"}, {"val_fraction", "split_seed"}, is_set("val_file"), "val_file names the validation images"},
      {{"CsvImages"}, {"label_separator"}, is_other_than("target_type", {"labels"}), "target_type is not labels"},
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

}  // namespace levin::cli
