#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// How the trials of a sweep are chosen: all combinations, drawn, or drawn with successive halving.
enum class SweepMethod : uint8_t { Grid, Random, Asha };
template <>
inline constexpr auto kWords<SweepMethod> =
    words_of<SweepMethod>({{"grid", SweepMethod::Grid}, {"random", SweepMethod::Random}, {"asha", SweepMethod::Asha}});

}  // namespace levin
