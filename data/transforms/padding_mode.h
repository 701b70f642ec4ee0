#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {
namespace data {

/// The content of pixels outside of an image.
enum class PaddingMode : uint8_t { Constant, Edge, Reflect, Symmetric };

}  // namespace data

template <>
inline constexpr auto kWords<data::PaddingMode> =
    words_of<data::PaddingMode>({{"constant", data::PaddingMode::Constant},
                                 {"edge", data::PaddingMode::Edge},
                                 {"reflect", data::PaddingMode::Reflect},
                                 {"symmetric", data::PaddingMode::Symmetric}});

}  // namespace levin
