#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// Whether a monitored metric improves by falling or by rising.
enum class MetricMode : uint8_t { Min, Max };
template <>
inline constexpr auto kWords<MetricMode> = words_of<MetricMode>({{"min", MetricMode::Min}, {"max", MetricMode::Max}});

}  // namespace levin
