#pragma once
#include <levin/modules/metrics/metric.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace metric_cases {

using Json = nlohmann::ordered_json;
using Batches = std::vector<std::pair<at::Tensor, at::Tensor>>;

/// A metric's class, its options as in a config, and the name of its data.
struct Case {
  std::string metric, data;
  Json options;
};

/// Returns all metrics with their options, on random data in batches of different sizes.
const std::vector<Case>& random_cases();
/// Returns cases with data of one class only, with ties, without any counted row, and without any update.
const std::vector<Case>& degenerate_cases();
/// Returns batches of preds and target by name.
const std::map<std::string, Batches>& data();

/// Returns the metric of a case, with options read from its JSON.
std::shared_ptr<levin::metrics::Metric> make(const Case& one);
/// Returns a text such as "Accuracy {...} on binary".
std::string to_text(const Case& one);

/// Updates the metric with batches [first, last).
void update(levin::metrics::Metric& metric, const Batches& batches, size_t first, size_t last);
inline void update(levin::metrics::Metric& metric, const Batches& batches) {
  update(metric, batches, 0, batches.size());
}
/// Returns the largest difference; 0 for two NaNs, infinite if only one is NaN or the shapes differ.
double difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace metric_cases
