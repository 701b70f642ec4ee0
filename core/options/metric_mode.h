#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>
#include <limits>

namespace levin {

/// Whether a monitored metric improves by falling or by rising.
enum class MetricMode : uint8_t { Min, Max };
template <>
inline constexpr auto kWords<MetricMode> = words_of<MetricMode>({{"min", MetricMode::Min}, {"max", MetricMode::Max}});

/// Returns whether `value` is an improvement on `than`; false if one of them is NaN.
inline bool is_better(double value, double than, MetricMode mode) {
  return mode == MetricMode::Min ? value < than : value > than;
}

/// Returns the infinite value that every finite one is an improvement on.
inline double worst_value(MetricMode mode) {
  const double infinity = std::numeric_limits<double>::infinity();
  return mode == MetricMode::Min ? infinity : -infinity;
}

}  // namespace levin
