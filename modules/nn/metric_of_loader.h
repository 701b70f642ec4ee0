#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>

namespace levin::nn {

/// Returns the metric of one loader, made with `arguments` if it is new; the metrics of the other loaders keep their
/// addresses.
template <class Metric, class... Arguments>
Metric& metric_of_loader(std::deque<Metric>& all, int64_t loader, const Arguments&... arguments) {
  const auto index = static_cast<size_t>(loader);
  while (all.size() <= index) all.emplace_back(arguments...);
  return all[index];
}

}  // namespace levin::nn
