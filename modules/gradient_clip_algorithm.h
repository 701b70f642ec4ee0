#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// What a limit of gradients bounds: the norm of all, or each value.
enum class GradientClipAlgorithm : uint8_t { Norm, Value };
template <>
inline constexpr auto kWords<GradientClipAlgorithm> =
    words_of<GradientClipAlgorithm>({{"norm", GradientClipAlgorithm::Norm}, {"value", GradientClipAlgorithm::Value}});

}  // namespace levin
