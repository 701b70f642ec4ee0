#pragma once
#include <levin/modules/metrics/metric.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::metrics {

/// A metric of a collection, by name: `{"acc", Accuracy({...})}` (copied) or `{"acc", shared_pointer}` (shared).
struct NamedMetric {
  NamedMetric(std::string name_, const Metric& metric_) : name(std::move(name_)), metric(metric_.clone()) {}
  NamedMetric(std::string name_, std::shared_ptr<Metric> metric_)
      : name(std::move(name_)), metric(std::move(metric_)) {}

  std::string name;
  std::shared_ptr<Metric> metric;
};

struct MetricCollectionOptions {
  std::string prefix = {}, postfix = {};  ///< around each name in results and logs
};

/// Metrics that take the same inputs, updated and logged as one: `log_dict(collection)` in a LightningModule.
///
///     metrics::MetricCollection metrics{{{"acc", metrics::Accuracy({.task = "binary"})},
///                                        {"auroc", metrics::AUROC({.task = "binary"})}}, {.prefix = "val_"}};
///
/// Copies share their metrics; `clone` makes another set. Each metric keeps its own states.
/// Source: https://lightning.ai/docs/torchmetrics/stable/pages/overview.html#metriccollection
class MetricCollection {
 public:
  using Values = std::vector<std::pair<std::string, at::Tensor>>;

  /// Throws levin::UsageError for a name that comes twice and for no metric.
  explicit MetricCollection(std::vector<NamedMetric> metrics, MetricCollectionOptions options = {});

  /// Counts one batch in each metric.
  template <std::convertible_to<at::Tensor>... Inputs>
  void update(const Inputs&... inputs) {
    update_all({at::Tensor(inputs)...});
  }
  /// Counts one batch; the values of this batch alone, with prefix and postfix.
  template <std::convertible_to<at::Tensor>... Inputs>
  Values forward(const Inputs&... inputs) {
    return forward_all({at::Tensor(inputs)...});
  }
  template <std::convertible_to<at::Tensor>... Inputs>
  Values operator()(const Inputs&... inputs) {
    return forward_all({at::Tensor(inputs)...});
  }
  /// The same with a list of inputs.
  void update_all(at::TensorList inputs);
  Values forward_all(at::TensorList inputs);
  /// The values of all batches, with prefix and postfix, in the order of the metrics.
  Values compute() const;
  void reset();
  /// Throws levin::UsageError if `other` has other metrics.
  void merge(const MetricCollection& other);
  void sync(Comm& comm);
  void unsync();
  void to(c10::Device device);
  /// A dict with each metric's state under its name, without prefix and postfix.
  State state_dict() const;
  void load_state_dict(const State& state);
  /// The same metrics with states of their own, under another prefix and postfix.
  MetricCollection clone(MetricCollectionOptions options) const;
  MetricCollection clone() const { return clone(options_); }

  /// The metric of that name, without prefix and postfix; throws levin::UsageError where there is none.
  Metric& operator[](const std::string& name) const;
  /// The metrics under their names without prefix and postfix.
  const std::vector<NamedMetric>& metrics() const { return metrics_; }
  /// The name with prefix and postfix.
  std::string full_name(const std::string& name) const { return options_.prefix + name + options_.postfix; }

 private:
  std::vector<NamedMetric> metrics_;
  MetricCollectionOptions options_;
};

}  // namespace levin::metrics
