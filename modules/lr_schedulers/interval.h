#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// What something is done after: each epoch, or each optimizer step.
enum class Interval : uint8_t { Epoch, Step };
template <>
inline constexpr auto kWords<Interval> = words_of<Interval>({{"epoch", Interval::Epoch}, {"step", Interval::Step}});

}  // namespace levin
