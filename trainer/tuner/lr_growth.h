#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// How the rate of a range test grows.
enum class LRGrowth : uint8_t { Exponential, Linear };
template <>
inline constexpr auto kWords<LRGrowth> =
    words_of<LRGrowth>({{"exponential", LRGrowth::Exponential}, {"linear", LRGrowth::Linear}});

}  // namespace levin
