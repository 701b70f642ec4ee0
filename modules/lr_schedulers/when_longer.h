#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// What a schedule of a fixed length does in a run with more steps: it refuses them, holds its last rates, or takes the
/// new length from the present step on.
enum class WhenLonger : uint8_t { Refuse, Hold, Stretch };
template <>
inline constexpr auto kWords<WhenLonger> = words_of<WhenLonger>(
    {{"refuse", WhenLonger::Refuse}, {"hold", WhenLonger::Hold}, {"stretch", WhenLonger::Stretch}});

}  // namespace levin
