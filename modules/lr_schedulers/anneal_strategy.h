#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// The form of the way from one rate to another.
enum class AnnealStrategy : uint8_t { Cos, Linear };
template <>
inline constexpr auto kWords<AnnealStrategy> =
    words_of<AnnealStrategy>({{"cos", AnnealStrategy::Cos}, {"linear", AnnealStrategy::Linear}});

}  // namespace levin
