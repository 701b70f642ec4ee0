#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// How the frozen weights of adapted layers are held.
enum class BaseFormat : uint8_t { AsGiven, NF4, Int8, BFloat16 };
template <>
inline constexpr auto kWords<BaseFormat> = words_of<BaseFormat>({{"as_given", BaseFormat::AsGiven},
                                                                 {"nf4", BaseFormat::NF4},
                                                                 {"int8", BaseFormat::Int8},
                                                                 {"bfloat16", BaseFormat::BFloat16}});

}  // namespace levin
