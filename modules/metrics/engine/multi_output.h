#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {
namespace metrics {

/// How the scores of several outputs become one value; RawValues: one value each.
enum class MultiOutput : uint8_t { UniformAverage, RawValues, VarianceWeighted };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::MultiOutput> =
    words_of<metrics::MultiOutput>({{"uniform_average", metrics::MultiOutput::UniformAverage},
                                    {"raw_values", metrics::MultiOutput::RawValues},
                                    {"variance_weighted", metrics::MultiOutput::VarianceWeighted}});

}  // namespace levin
