#include <levin/trainer/profile/experiments.h>
#include <levin/trainer/core/system/cores.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin {
namespace {

constexpr double kLearningGain = 1.2;  ///< a run is not changed for less

/// Returns the value at `path`; null if there is none.
Json value_at(const Json& config, const std::string& path) {
  const Json::json_pointer pointer = pointer_of(path);
  return config.contains(pointer) ? config.at(pointer) : Json();
}

bool has(const Json& config, const std::string& path) { return config.contains(pointer_of(path)); }

ProfileChange change_of(const Json& config, const std::string& path, const Json& after) {
  return {.path = path, .before = value_at(config, path).dump(), .after = after.dump()};
}

bool is_true(const Json& value) { return value.is_boolean() && value.get<bool>(); }

bool is_unset_or_true(const Json& value) { return value.is_null() || is_true(value); }

std::string callback_path(size_t index) { return "trainer.callbacks[" + std::to_string(index) + "]"; }

std::string class_of(const Json& part) {
  if (part.is_string()) return part.get<std::string>();
  return part.is_object() ? part.value("class", std::string()) : "";
}

Json callbacks_of(const Json& config) {
  Json callbacks = value_at(config, "trainer.callbacks");
  return callbacks.is_array() ? callbacks : Json::array();
}

bool has_callback(const Json& config, const std::string& name) {
  for (const Json& callback : callbacks_of(config))
    if (class_of(callback) == name) return true;
  return false;
}

void add_checkpoints(const Json& config, std::vector<Experiment>& list) {
  constexpr int64_t kSteps = 1000, kEpochs = 10;
  if (!is_unset_or_true(value_at(config, "trainer.enable_checkpointing")) ||
      is_true(value_at(config, "trainer.barebones")))
    return;
  const auto add = [&](std::vector<ProfileChange> changes) {
    list.push_back({.cause = "checkpoints",
                    .changes = std::move(changes),
                    .effect = ProfileEffect::Output,
                    .cpu_decides = true,
                    .family = "checkpoints"});
  };
  const Json callbacks = callbacks_of(config);
  for (size_t i = 0; i < callbacks.size(); ++i) {
    if (class_of(callbacks[i]) != "ModelCheckpoint") continue;
    const std::string path = callback_path(i);
    const Json steps = value_at(config, path + ".every_n_train_steps");
    const Json time = value_at(config, path + ".train_time_interval");
    if (steps.is_number_integer() && steps.get<int64_t>() > 0 && steps.get<int64_t>() < kSteps)
      add({change_of(config, path + ".every_n_train_steps", kSteps)});
    else if (!time.is_null())
      add({change_of(config, path + ".train_time_interval", "00:00:15:00")});
    else if (!steps.is_number_integer())
      add({change_of(config, path + ".every_n_epochs", kEpochs)});
  }
  if (!has_callback(config, "ModelCheckpoint") && has(config, "trainer.callbacks")) {
    Json with = callbacks;
    with.push_back({{"class", "ModelCheckpoint"}, {"every_n_epochs", kEpochs}});
    add({change_of(config, "trainer.callbacks", with)});
  }
}

void add_callbacks(const Json& config, std::vector<Experiment>& list) {
  const Json callbacks = callbacks_of(config);
  for (size_t i = 0; i < callbacks.size(); ++i) {
    const std::string name = class_of(callbacks[i]), path = callback_path(i);
    if (name == "ModelCheckpoint") continue;
    if (name == "ProgressBar") {
      std::vector<ProfileChange> changes;
      for (const auto& [option, seconds] : {std::pair("refresh_seconds", 0.1), std::pair("plain_seconds", 10.0)}) {
        const Json now = value_at(config, path + "." + option);
        if (now.is_number() && now.get<double>() < seconds)
          changes.push_back(change_of(config, path + "." + option, seconds));
      }
      if (!changes.empty())
        list.push_back({.cause = "the progress bar",
                        .changes = std::move(changes),
                        .effect = ProfileEffect::Output,
                        .cpu_decides = true});
      continue;
    }
    list.push_back({.cause = "callback " + (name.empty() ? path : name),
                    .change = "take " + (name.empty() ? path : name + " (" + path + ")") +
                              " out, or let it do less: it runs with each batch",
                    .removes = {pointer_of(path).to_string()},
                    .effect = ProfileEffect::Output,
                    .cpu_decides = true});
  }
}

void add_logging(const Json& config, std::vector<Experiment>& list) {
  constexpr int64_t kSteps = 50;
  const Json steps = value_at(config, "trainer.log_every_n_steps"), loggers = value_at(config, "trainer.logger");
  if (steps.is_number_integer() && steps.get<int64_t>() > 0 && steps.get<int64_t>() < kSteps)
    list.push_back({.cause = "logging",
                    .changes = {change_of(config, "trainer.log_every_n_steps", kSteps)},
                    .effect = ProfileEffect::Output,
                    .cpu_decides = true});
  if (!loggers.is_array()) return;
  for (size_t i = 0; i < loggers.size(); ++i) {
    const std::string path = "trainer.logger[" + std::to_string(i) + "]";
    list.push_back({.cause = "logger " + class_of(loggers[i]),
                    .change = "take " + class_of(loggers[i]) + " (" + path + ") out",
                    .removes = {pointer_of(path).to_string()},
                    .effect = ProfileEffect::Output,
                    .cpu_decides = true});
  }
}

void add_validation(const Json& config, std::vector<Experiment>& list) {
  constexpr int64_t kEpochs = 10;
  const Json interval = value_at(config, "trainer.val_check_interval");
  const Json epochs = value_at(config, "trainer.check_val_every_n_epoch");
  const bool is_each_epoch = interval.is_number_float() && interval.get<double>() >= 1;
  Experiment less = {.cause = "validation", .effect = ProfileEffect::Output, .cpu_decides = true};
  if (!is_each_epoch) {
    less.changes = {change_of(config, "trainer.val_check_interval", 1.0)};
    if (epochs.is_null()) less.changes.push_back(change_of(config, "trainer.check_val_every_n_epoch", 1));
  } else if (epochs.is_number_integer() && epochs.get<int64_t>() < kEpochs) {
    less.changes = {change_of(config, "trainer.check_val_every_n_epoch", kEpochs)};
  } else {
    return;
  }
  list.push_back(std::move(less));
}

}  // namespace

Json::json_pointer pointer_of(const std::string& path) {
  std::string pointer = "/";
  for (const char c : path) {
    if (c == '.' || c == '[')
      pointer += '/';
    else if (c != ']')
      pointer += c;
  }
  return Json::json_pointer(pointer);
}

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

std::vector<Experiment> output_experiments(const Json& config, const ProfileFacts& facts) {
  std::vector<Experiment> list;
  add_logging(config, list);
  add_callbacks(config, list);
  add_checkpoints(config, list);
  if (facts.validates) add_validation(config, list);
  if (!has_callback(config, "ProgressBar") && is_unset_or_true(value_at(config, "trainer.enable_progress_bar")))
    list.push_back({.cause = "the progress bar",
                    .changes = {change_of(config, "trainer.enable_progress_bar", false)},
                    .effect = ProfileEffect::Output,
                    .cpu_decides = true});
  return list;
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
  try_instead("find_unused_parameters", true, false, "the search for unused parameters");
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
  // A constant batch does not show what this costs: the loaders are made anew all the same.
  if (const Json reload = value_at(config, "trainer.reload_dataloaders_every_n_epochs");
      reload.is_number_integer() && reload.get<int64_t>() > 0)
    list.push_back({.cause = "loaders that are made anew",
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
    const Json bucket = value_at(config, "trainer.bucket_cap_mb");
    constexpr double kBucket = 25;
    if (bucket.is_number() && bucket.get<double>() < kBucket)
      list.push_back(
          {.cause = "many small reductions", .changes = {change_of(config, "trainer.bucket_cap_mb", kBucket)}});
    try_instead("static_graph", false, true, "the search for gradients that are ready", ProfileEffect::None, false);
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
    if (value_at(config, "trainer.gradient_compression") == Json("none"))
      add("reductions between ranks", {change_of(config, "trainer.gradient_compression", "bf16")}, "reductions");
  }
  return list;
}

}  // namespace levin
