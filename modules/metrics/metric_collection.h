#pragma once
#include <levin/modules/metrics/metric.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::metrics {

/// A named metric of a collection: `{"acc", Accuracy({...})}` (copied) or `{"acc", shared_pointer}` (shared).
struct NamedMetric {
  NamedMetric(std::string name_, const Metric& metric_) : name(std::move(name_)), metric(metric_.clone()) {}
  NamedMetric(std::string name_, std::shared_ptr<Metric> metric_)
      : name(std::move(name_)), metric(std::move(metric_)) {}

  std::string name;
  std::shared_ptr<Metric> metric;
};

struct MetricCollectionOptions {
  std::string prefix = {}, postfix = {};  ///< added to each name in results and logs
};

/// Metrics with the same inputs, updated and logged together: `log_dict(collection)` in a LightningModule.
///
///     metrics::MetricCollection metrics{{{"acc", metrics::Accuracy({.task = "binary"})},
///                                        {"auroc", metrics::AUROC({.task = "binary"})}}, {.prefix = "val_"}};
///
/// Copies share their metrics; `clone` copies them. Each metric has its own states.
/// Source: https://lightning.ai/docs/torchmetrics/stable/pages/overview.html#metriccollection
class MetricCollection {
 public:
  using Values = std::vector<std::pair<std::string, at::Tensor>>;

  /// Throws levin::UsageError for a duplicate name and for an empty list.
  explicit MetricCollection(std::vector<NamedMetric> metrics, MetricCollectionOptions options = {});

  /// Counts one batch in each metric.
  template <std::convertible_to<at::Tensor>... Inputs>
  void update(const Inputs&... inputs) {
    update_all({at::Tensor(inputs)...});
  }
  /// Counts one batch and returns the values of this batch alone, with prefix and postfix.
  template <std::convertible_to<at::Tensor>... Inputs>
  Values forward(const Inputs&... inputs) {
    return forward_all({at::Tensor(inputs)...});
  }
  template <std::convertible_to<at::Tensor>... Inputs>
  Values operator()(const Inputs&... inputs) {
    return forward_all({at::Tensor(inputs)...});
  }
  /// Does the same with a list of inputs.
  void update_all(at::TensorList inputs);
  Values forward_all(at::TensorList inputs);
  /// Returns the values of all batches, with prefix and postfix, in the order of the metrics.
  Values compute() const;
  void reset();
  /// Throws levin::UsageError if `other` has different metrics.
  void merge(const MetricCollection& other);
  void sync(Comm& comm);
  void unsync();
  void to(c10::Device device);
  /// Returns a dict with each metric's state under its name, without prefix and postfix.
  State state_dict() const;
  void load_state_dict(const State& state);
  /// Returns copies of the metrics with independent states, under another prefix and postfix.
  MetricCollection clone(MetricCollectionOptions options) const;
  MetricCollection clone() const { return clone(options_); }

  /// Returns the metric of this name (without prefix and postfix); throws levin::UsageError if there is none.
  Metric& operator[](const std::string& name) const;
  /// Returns the metrics under their names without prefix and postfix.
  const std::vector<NamedMetric>& metrics() const { return metrics_; }
  /// Returns the name with prefix and postfix.
  std::string full_name(const std::string& name) const { return options_.prefix + name + options_.postfix; }

 private:
  std::vector<NamedMetric> metrics_;
  MetricCollectionOptions options_;
};

}  // namespace levin::metrics
