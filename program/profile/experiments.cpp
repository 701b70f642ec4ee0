#include <levin/program/profile/experiments.h>
#include <levin/core/system/cores.h>
#include <levin/program/profile/config_values.h>
#include <levin/trainer/strategies/strategy_choice.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin {
namespace {

constexpr double kLearningGain = 1.2;  ///< a run is not changed for less

}  // namespace

std::string text_of(const std::vector<ProfileChange>& changes) {
  std::string text;
  for (const ProfileChange& change : changes) {
    const auto value = [](const std::string& json) { return json == "null" ? std::string("unset") : json; };
    text += (text.empty() ? "" : ", ") + change.path + " " + value(change.before) + " -> " + value(change.after);
  }
  return text;
}

ProfileTrial changed(const ProfileTrial& base, const Experiment& experiment) {
  ProfileTrial trial = base;
  for (const ProfileChange& change : experiment.changes)
    trial.config[pointer_of(change.path)] = Json::parse(change.after);
  for (const std::string& item : experiment.removes) {
    const Json::json_pointer pointer(item);
    Json& list = trial.config[pointer.parent_pointer()];
    const size_t index = std::stoul(pointer.back());
    if (list.is_array() && index < list.size()) list.erase(index);
  }
  trial.probe.constant_batch |= experiment.probe.constant_batch;
  trial.probe.constant_hooks |= experiment.probe.constant_hooks;
  trial.probe.contiguous |= experiment.probe.contiguous;
  trial.probe.null_optimizer |= experiment.probe.null_optimizer;
  return trial;
}

ProbeExperiments probe_experiments(const Json& config) {
  ProbeExperiments probes;
  probes.loader = {.cause = "data loading",
                   .change = "the same batch again and again is faster: make loading cheaper, or keep what was decoded",
                   .probe = {.constant_batch = true},
                   .changes_threads = true,
                   .is_limit = true};
  probes.optimizer = {.cause = "the optimizer",
                      .change =
                          "training without the optimizer's steps is faster: use one of levin's optimizers (one "
                          "pass over all parameters), or fewer and larger parameters",
                      .probe = {.null_optimizer = true},
                      .least_gain = 1.5,
                      .cpu_decides = true,
                      .is_limit = true};
  Experiment& output = probes.output;
  output = {.cause = "logging, callbacks, checkpoints and validation",
            .change = "training without them is faster",
            .effect = ProfileEffect::Output,
            .cpu_decides = true,
            .is_limit = true};
  for (const auto& [path, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"trainer.logger", false},
                                                           {"trainer.callbacks", Json::array()},
                                                           {"trainer.enable_checkpointing", false},
                                                           {"trainer.enable_progress_bar", false},
                                                           {"trainer.limit_val_batches", 0},
                                                           {"trainer.log_every_n_steps", 0}})
    if (has(config, path) && !is_true(value_at(config, "trainer.barebones")))
      output.changes.push_back(change_of(config, path, value));
  return probes;
}

std::vector<Experiment> loader_experiments(const Json& config, const ProfileFacts& facts) {
  std::vector<Experiment> list;
  const auto add = [&](std::vector<ProfileChange> changes, const std::string& family) {
    list.push_back({.cause = "data loading", .changes = std::move(changes), .changes_threads = true, .family = family});
  };
  const Json workers = value_at(config, "data.num_workers");
  if (workers.is_number_integer()) {
    const auto now = workers.get<int64_t>();
    std::vector<int64_t> counts = {now + 1, 2 * now, 4 * now, 2, 4, 8, now - 1, 1, 0};
    std::ranges::sort(counts);
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    const int64_t most = std::max<int64_t>(8, 2 * cores_of_process());
    for (const int64_t count : counts)
      if (count >= 0 && count != now && (count <= most || count < now))
        add({change_of(config, "data.num_workers", count)}, "data loading");
  }
  for (const char* option : {"cache", "in_memory", "preload"})
    if (const std::string path = std::string("data.") + option; value_at(config, path) == Json(false))
      add({change_of(config, path, true)}, "data loading");
  if (const Json prefetch = value_at(config, "data.prefetch_factor");
      workers.is_number_integer() && workers.get<int64_t>() > 0 && prefetch.is_number_integer())
    add({change_of(config, "data.prefetch_factor", 4 * prefetch.get<int64_t>())}, "data loading");
  if (facts.on_gpu && value_at(config, "data.pin_memory") == Json(false))
    add({change_of(config, "data.pin_memory", true)}, "pinned memory");
  return list;
}

/// Returns an option of the strategy of several ranks; its default if the strategy is left to the devices, which is
/// ddp.
Json strategy_option(const Json& config, const char* option, const Json& by_default) {
  const Json value = value_at(config, std::string("trainer.strategy.") + option);
  const bool is_auto = value_at(config, "trainer.strategy.class") == kAutoStrategy;
  return value.is_null() && is_auto ? by_default : value;
}

/// Returns the change of such an option, which names ddp if the config names no strategy.
ProfileChange change_of_strategy(const Json& config, const char* option, const Json& after) {
  const std::string path = std::string("trainer.strategy.") + option;
  if (has(config, path)) return change_of(config, path, after);
  return change_of(config, "trainer.strategy", {{"class", "ddp"}, {option, after}});
}

std::vector<Experiment> option_experiments(const Json& config, const ProfileFacts& facts) {
  std::vector<Experiment> list;
  /// Tries another value if the present one is `costly`.
  const auto try_instead = [&](const char* option, const Json& costly, const Json& after, const char* cause,
                               ProfileEffect effect = ProfileEffect::None, bool cpu_decides = true) {
    const std::string path = std::string("trainer.") + option;
    if (has(config, path) && value_at(config, path) == costly)
      list.push_back(
          {.cause = cause, .changes = {change_of(config, path, after)}, .effect = effect, .cpu_decides = cpu_decides});
  };
  try_instead("detect_anomaly", true, false, "anomaly detection");
  try_instead("deterministic", true, false, "deterministic algorithms");
  try_instead("deterministic", "warn", false, "deterministic algorithms");
  try_instead("activation_checkpointing", true, false, "activations that are computed twice");
  try_instead("keep_freed_memory", false, true, "memory that is given back and asked for again");
  try_instead("inference_mode", false, true, "evaluation without inference mode", ProfileEffect::None);
  try_instead("flush_denormal", false, true, "denormal numbers");
  if (facts.on_gpu) {
    try_instead("benchmark", false, true, "algorithms of convolutions", ProfileEffect::None, false);
    if (facts.is_automatic) try_instead("cuda_graphs", false, true, "launches of kernels", ProfileEffect::None, false);
    if (value_at(config, "trainer.float32_matmul_precision").is_null())
      list.push_back({.cause = "float32 matrix products",
                      .changes = {change_of(config, "trainer.float32_matmul_precision", "high")},
                      .effect = ProfileEffect::Learning});
  }
  // The trial with a constant batch does not show this cost, because it makes the loaders anew too.
  if (const Json reload = value_at(config, "trainer.reload_dataloaders_every_n_epochs");
      reload.is_number_integer() && reload.get<int64_t>() > 0)
    list.push_back({.cause = "loaders that are made again",
                    .changes = {change_of(config, "trainer.reload_dataloaders_every_n_epochs", 0)}});
  if (facts.has_convolution)
    try_instead("memory_format", "preserve", "channels_last", "the memory layout of convolutions");
  if (facts.has_batch_hooks)
    list.push_back({.cause = "batch hooks on the training thread",
                    .change = "do in the dataset what on_before_batch_transfer and on_after_batch_transfer do: workers "
                              "then do it ahead",
                    .probe = {.constant_hooks = true}});
  const Json threads = value_at(config, "trainer.num_threads");
  const int64_t cores = cores_of_process();
  if (has(config, "trainer.num_threads") && !facts.on_gpu &&
      !is_true(value_at(config, "trainer.keep_torch_settings"))) {
    const auto try_threads = [&](const Json& count) {
      list.push_back({.cause = "compute threads",
                      .changes = {change_of(config, "trainer.num_threads", count)},
                      .changes_threads = true,
                      .family = "threads"});
    };
    const int64_t now = threads.is_number_integer() ? threads.get<int64_t>() : cores;
    if (now != cores) try_threads(nullptr);
    if (now != 1) try_threads(1);
    if (cores > 3 && now != cores / 2) try_threads(cores / 2);
  }
  if (facts.world_size > 1) {
    const auto try_of_strategy = [&](const char* option, const Json& after, const char* cause, bool cpu_decides) {
      list.push_back({.cause = cause,
                      .changes = {change_of_strategy(config, option, after)},
                      .effect = ProfileEffect::None,
                      .cpu_decides = cpu_decides});
    };
    if (is_true(strategy_option(config, "find_unused_parameters", false)))
      try_of_strategy("find_unused_parameters", false, "the search for unused parameters", /*cpu_decides=*/true);
    constexpr double kBucket = 25;
    const Json bucket = strategy_option(config, "bucket_cap_mb", kBucket);
    if (bucket.is_number() && bucket.get<double>() < kBucket)
      try_of_strategy("bucket_cap_mb", kBucket, "many small reductions", /*cpu_decides=*/true);
    if (strategy_option(config, "static_graph", false) == false)
      try_of_strategy("static_graph", true, "the search for gradients that are ready", /*cpu_decides=*/false);
  }
  return list;
}

std::vector<Experiment> learning_experiments(const Json& config, const ProfileFacts& facts) {
  std::vector<Experiment> list;
  const auto add = [&](const char* cause, std::vector<ProfileChange> changes, const char* family = "") {
    list.push_back({.cause = cause,
                    .changes = std::move(changes),
                    .effect = ProfileEffect::Learning,
                    .least_gain = kLearningGain,
                    .family = family});
  };
  const Json size = value_at(config, "data.batch_size");
  constexpr int64_t kLeastBatches = 8;  // of an epoch
  if (size.is_number_integer())
    for (const int64_t factor : {4, 16, 64})
      if (facts.batches_per_epoch == 0 || facts.batches_per_epoch >= kLeastBatches * factor)
        add("small batches", {change_of(config, "data.batch_size", factor * size.get<int64_t>())}, "batch size");
  const Json precision = value_at(config, "trainer.precision");
  const std::string name = precision.is_string() ? precision.get<std::string>() : precision.dump();
  if (name == "64-true" || name == "64")
    add("double precision", {change_of(config, "trainer.precision", "32-true")}, "precision");
  if (name == "32-true" || name == "32" || precision.is_null())
    add("32-bit arithmetic", {change_of(config, "trainer.precision", "bf16-mixed")}, "precision");
  if (facts.world_size > 1) {
    const Json k = value_at(config, "trainer.accumulate_grad_batches");
    if (k.is_number_integer())
      add("reductions between ranks", {change_of(config, "trainer.accumulate_grad_batches", 4 * k.get<int64_t>())},
          "reductions");
    if (strategy_option(config, "gradient_compression", "none") == "none")
      add("reductions between ranks", {change_of_strategy(config, "gradient_compression", "bf16")}, "reductions");
  }
  return list;
}

}  // namespace levin
