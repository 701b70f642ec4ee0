#pragma once
#include <levin/core/system/error.h>
#include <levin/modules/metrics/engine/classification_input.h>
#include <levin/modules/metrics/engine/segmentation_input.h>

namespace levin::metrics {

/// Returns the task of a metric's options, which are checked. `metric` is its name for error messages.
template <class Options>
ClassificationTask checked_classification(const char* metric, const Options& options) {
  schema_of<Options>().check(&options, metric);
  return classification_task(metric, options.task, options.num_classes, options.num_labels, options.ignore_index);
}

/// Does the same for a metric of segmentations.
template <class Options>
SegmentationTask checked_segmentation(const char* metric, const Options& options) {
  if (!options.num_classes) throw UsageError(metric, ".num_classes: missing; set the classes, the background included");
  schema_of<Options>().check(&options, metric);
  const SegmentationTask task{.metric = metric,
                              .num_classes = *options.num_classes,
                              .include_background = options.include_background,
                              .format = options.input_format};
  check(task);
  return task;
}

}  // namespace levin::metrics
