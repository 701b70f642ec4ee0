#pragma once
#include <levin/core/system/error.h>
#include <levin/modules/metrics/engine/fill_options.h>
#include <levin/modules/metrics/registry.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::metrics {

using MetricEntries = Registry<MetricKind::Entry>;

// The entries of the registry, in files of their own.
void add_classification_metrics(MetricEntries& entries);
void add_regression_metrics(MetricEntries& entries);
void add_wrapper_metrics(MetricEntries& entries);

/// The kinds of predictions that a metric measures.
using Measured = std::initializer_list<Learned>;

/// Returns a kind of predictions as an error names it.
const char* text_of(Learned learned);
/// Returns the choices with this name, unless they have one.
LogChoices named(LogChoices log, const std::string& name);
/// Throws levin::UsageError that begins with `path` for a metric whose value is not one number.
void check_single(const Metric& metric, const std::string& path);

/// Calls `make`, whose errors then start with `path`.
template <class Make>
auto with_path(const std::string& path, const Make& make) {
  try {
    return make();
  } catch (const UsageError& error) {
    const std::string text = error.what();
    if (text.starts_with(path)) throw;
    throw UsageError(path, ": ", text);
  }
}

/// Adds a metric, whose first name is that in logs. `measured`: what it measures; other predictions are refused.
template <class M>
void add_metric(MetricEntries& registry, const std::string& class_name, std::vector<std::string> names,
                MetricInput input, Measured measured, const std::string& help) {
  using Options = OptionsOf<M>;
  MetricKind::Entry entry;
  entry.name = names.front();
  entry.aliases = std::move(names);
  entry.log = [name = entry.name](const void* chosen) {
    return named(static_cast<const ChosenOptions<Options>*>(chosen)->log, name);
  };
  entry.make = [=](const void* chosen, const MetricTask& task, const std::string& path) {
    if (std::ranges::find(measured, task.learned) == measured.end())
      throw UsageError(path, ": ", class_name, " measures ", text_of(*measured.begin()), ", and ", task.module,
                       " predicts ", text_of(task.learned));
    return with_path(path, [&] {
      Options options = static_cast<const ChosenOptions<Options>*>(chosen)->options;
      fill_options(options, task, path);
      const auto metric = std::make_shared<M>(options);
      check_single(*metric, path);
      return MadeMetric{.input = input, .values = {{.metric = metric}}};
    });
  };
  registry.add<ChosenOptions<Options>>(class_name, help, std::move(entry));
}

}  // namespace levin::metrics
