#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// Where a run with a seed draws random numbers on the CPU: from LibTorch's default generator, or from one of its own.
enum class GeneratorChoice : uint8_t { Auto, Own, Default };
template <>
inline constexpr auto kWords<GeneratorChoice> = words_of<GeneratorChoice>(
    {{"auto", GeneratorChoice::Auto}, {"own", GeneratorChoice::Own}, {"default", GeneratorChoice::Default}});

}  // namespace levin
