#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// What something is done after: each epoch, or each optimizer step. By tokens: a schedule counts the tokens of the
/// finished optimizer steps, and its rate follows from their number.
enum class Interval : uint8_t { Epoch, Step, Token };
template <>
inline constexpr auto kWords<Interval> =
    words_of<Interval>({{"epoch", Interval::Epoch}, {"step", Interval::Step}, {"token", Interval::Token}});

}  // namespace levin
