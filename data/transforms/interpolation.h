#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {
namespace data {

/// The interpolation between pixels.
enum class Interpolation : uint8_t { Nearest, Bilinear, Bicubic };

}  // namespace data

template <>
inline constexpr auto kWords<data::Interpolation> =
    words_of<data::Interpolation>({{"nearest", data::Interpolation::Nearest},
                                   {"bilinear", data::Interpolation::Bilinear},
                                   {"bicubic", data::Interpolation::Bicubic}});

}  // namespace levin
