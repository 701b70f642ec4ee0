#include <levin/modules/metrics/boot_strapper.h>
#include <levin/modules/metrics/engine/element_of.h>
#include <levin/modules/metrics/engine/epoch_extreme.h>
#include <levin/modules/metrics/engine/metric_entry.h>
#include <levin/modules/metrics/running.h>

namespace levin::metrics {
namespace {

/// The options of a wrapper in a config: its own, and the metric that it wraps.
template <class Options>
struct WrapperOptions {
  Options options = {};
  ClassChoice<MetricKind> metric = LEVIN_OPTION(metric, {}, "The metric that is wrapped; required");
};

/// `wrap` makes the logged values of the wrapped metric, whose name in the logs begins with `prefix`.
template <class Options, class Wrap>
void add_wrapper(MetricEntries& registry, const std::string& class_name, std::vector<std::string> names,
                 const std::string& prefix, const std::string& help, Wrap wrap) {
  using Chosen = ChosenOptions<WrapperOptions<Options>>;
  MetricKind::Entry entry;
  entry.name = names.front();
  entry.aliases = std::move(names);
  entry.log = [prefix](const void* chosen) {
    const auto& options = *static_cast<const Chosen*>(chosen);
    const ClassChoice<MetricKind>& inner = options.options.metric;
    return named(options.log, inner ? prefix + log_choices(inner).name : prefix);
  };
  entry.make = [class_name, wrap](const void* chosen, const MetricTask& task, const std::string& path) {
    const auto& options = static_cast<const Chosen*>(chosen)->options;
    if (!options.metric) throw UsageError(path, ".metric: missing; name the metric that ", class_name, " wraps");
    if (log_choices(options.metric).train)
      throw UsageError(path, ".metric.train: has no effect there; set it beside ", class_name);
    const MadeMetric inner = make_metric(options.metric, task, path + ".metric");
    if (inner.values.size() != 1)
      throw UsageError(path, ".metric: gives several values, and ", class_name, " wraps a metric with one");
    return with_path(path, [&] {
      return MadeMetric{.input = inner.input, .values = wrap(inner.values.front().metric, options.options)};
    });
  };
  registry.add<Chosen>(class_name, help, std::move(entry));
}

template <class M>
std::vector<LoggedValue> elements_of(const M& wrapper) {
  std::vector<LoggedValue> values;
  for (const std::string& name : wrapper.value_names())
    values.push_back({.suffix = "_" + name,
                      .metric = std::make_shared<ElementOf>(wrapper.clone(), static_cast<int64_t>(values.size()))});
  return values;
}

}  // namespace

void add_wrapper_metrics(MetricEntries& registry) {
  add_wrapper<RunningOptions>(registry, "Running", {"running"}, "running_", "A metric over the latest batches alone",
                              [](const std::shared_ptr<Metric>& metric, const RunningOptions& options) {
                                return std::vector<LoggedValue>{{.metric = std::make_shared<Running>(metric, options)}};
                              });
  add_wrapper<NoOptions>(registry, "MinMaxMetric", {"min_max_metric", "min_max"}, "",
                         "A metric, and its largest and smallest value of all epochs",
                         [](const std::shared_ptr<Metric>& metric, const NoOptions& /*options*/) {
                           const auto extreme = [&](bool is_max) {
                             return LoggedValue{.suffix = is_max ? "_max" : "_min",
                                                .metric = std::make_shared<EpochExtreme>(metric, is_max),
                                                .is_of_run = true};
                           };
                           return std::vector<LoggedValue>{{.metric = metric}, extreme(true), extreme(false)};
                         });
  add_wrapper<BootStrapperOptions>(
      registry, "BootStrapper", {"boot_strapper", "bootstrapper"}, "",
      "How far the value of a metric is certain: its mean and deviation over drawn samples",
      [](const std::shared_ptr<Metric>& metric, const BootStrapperOptions& options) {
        return elements_of(BootStrapper(metric, options));
      });
}

}  // namespace levin::metrics
