#include <levin/program/profile/config_values.h>
#include <levin/program/profile/experiments.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace levin {
namespace {

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

}  // namespace levin
