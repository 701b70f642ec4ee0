#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {
namespace parallel {

/// The dtype in which gradients or parameters are sent between the ranks; None: their own.
enum class Compression : uint8_t { None, Float16, BFloat16 };

}  // namespace parallel

template <>
inline constexpr auto kWords<parallel::Compression> =
    words_of<parallel::Compression>({{"none", parallel::Compression::None},
                                     {"fp16", parallel::Compression::Float16},
                                     {"bf16", parallel::Compression::BFloat16}});

}  // namespace levin
