#pragma once
#include <levin/core/options/class_choice.h>

#include <vector>

namespace levin {
namespace metrics {

/// Metrics by name; modules/metrics/registry.h has the registry.
struct MetricKind;

}  // namespace metrics

LEVIN_DECLARE_OPTION_TYPE(ClassChoice<metrics::MetricKind>);

namespace metrics {

/// The option `metrics` of a module: `["accuracy", {"class": "FBetaScore", "beta": 0.5}]`. As a member without
/// LEVIN_OPTION it is flattened into the module's own options; NamedMetrics makes and logs the metrics.
struct MetricChoices {
  std::vector<ClassChoice<MetricKind>> metrics =
      LEVIN_OPTION(metrics, {}, "Metrics that validation and test log besides, as val_NAME and test_NAME");
};

}  // namespace metrics
}  // namespace levin
