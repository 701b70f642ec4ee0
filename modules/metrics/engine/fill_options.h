#pragma once
#include <levin/core/options/choice.h>
#include <levin/modules/metrics/engine/classification_input.h>
#include <levin/modules/metrics/engine/segmentation_input.h>
#include <levin/modules/metrics/metric_task.h>

#include <cstdint>
#include <optional>
#include <string>

namespace levin::metrics {

/// Sets `option` to what the module of that name knows. Throws levin::UsageError that starts with `path` if it is set
/// to something else.
void fill(std::optional<Choice<TaskKind>>& option, TaskKind known, const std::string& module, const std::string& path);
void fill(std::optional<int64_t>& option, int64_t known, const std::string& module, const std::string& path);

/// Returns the kind of classification of a task that has classes.
TaskKind task_kind(const MetricTask& task);

/// Sets the options of a metric that its module knows.
template <class Options>
void fill_options(Options& options, const MetricTask& task, const std::string& path) {
  if constexpr (requires { fill(options.task, TaskKind::Binary, path, path); })
    fill(options.task, task_kind(task), task.module, path + ".task");
  const bool has_labels = task.learned == Learned::Multilabel;
  const bool has_classes = !has_labels && task.learned != Learned::Binary && task.learned != Learned::Numbers;
  if constexpr (requires { fill(options.num_classes, task.columns, path, path); })
    if (has_classes) fill(options.num_classes, task.columns, task.module, path + ".num_classes");
  if constexpr (requires { fill(options.num_labels, task.columns, path, path); })
    if (has_labels) fill(options.num_labels, task.columns, task.module, path + ".num_labels");
  if constexpr (requires { options.ignore_index.has_value(); })
    if (!options.ignore_index) options.ignore_index = task.ignore_index;
  if constexpr (requires { options.multioutput; })
    if (options.num_outputs == 1) options.num_outputs = task.columns;
  if constexpr (requires { options.input_format = SegmentationFormat::Index; })
    options.input_format = SegmentationFormat::Index;
}

}  // namespace levin::metrics
