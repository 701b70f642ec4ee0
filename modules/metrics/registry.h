#pragma once
#include <levin/core/options/registry.h>
#include <levin/modules/metrics/metric.h>
#include <levin/modules/metrics/metric_choices.h>
#include <levin/modules/metrics/metric_task.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace levin::metrics {

/// How a metric takes the predictions of a module.
enum class MetricInput : uint8_t {
  Classes,   ///< scores of classes, and classes
  Segments,  ///< the class at each place, twice
  Tokens,    ///< logits of tokens, and tokens
  Numbers    ///< numbers, twice
};

/// A metric that is logged: one with a single value.
struct LoggedValue {
  std::string suffix = {};  ///< of its name, such as "_max"
  std::shared_ptr<Metric> metric = {};
  bool is_of_run = false;  ///< its value is of all epochs, and so it is saved between them
};

/// What an entry of a config is made into.
struct MadeMetric {
  MetricInput input = MetricInput::Classes;
  std::vector<LoggedValue> values = {};
};

/// The options that each metric of a config has besides its own.
struct LogChoices {
  std::string name = LEVIN_OPTION(name, "", "Name in the logs, behind val_; empty: that of the metric");
  bool train = LEVIN_OPTION(train, false, "Log it in training too, as train_NAME");
};

/// The options of a metric in a config: its own, and on the same level those of LogChoices.
template <class Options>
struct ChosenOptions {
  Options options = {};
  LogChoices log = {};
};

/// The registry of metrics by name, for the option of MetricChoices.
struct MetricKind {
  struct Entry {
    std::string name = {};                  ///< in the logs: "fbeta_score"
    std::vector<std::string> aliases = {};  ///< other names in configs
    /// Makes the metric for a task. Throws levin::UsageError that starts with `path` if it does not measure such
    /// predictions, or if the options contradict the task.
    std::function<MadeMetric(const void* options, const MetricTask& task, const std::string& path)> make = {};
    std::function<LogChoices(const void* options)> log = {};  ///< the name is never empty
  };
  static Registry<Entry>& registry();
};

/// Returns the metric of `choice` for a task. Throws as MetricKind::Entry::make.
MadeMetric make_metric(const ClassChoice<MetricKind>& choice, const MetricTask& task, const std::string& path);

/// Returns how it is logged; the name is never empty.
LogChoices log_choices(const ClassChoice<MetricKind>& choice);

/// Returns the class that a config means by `name`: the class's own, its name in the logs, or another alias; `name`
/// itself if there is none.
std::string metric_class(const std::string& name);

}  // namespace levin::metrics
