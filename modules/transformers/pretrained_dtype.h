#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {
namespace nn {

/// The dtype that weights from files get.
enum class PretrainedDtype : uint8_t { Float32, File };

}  // namespace nn

template <>
inline constexpr auto kWords<nn::PretrainedDtype> =
    words_of<nn::PretrainedDtype>({{"float32", nn::PretrainedDtype::Float32}, {"file", nn::PretrainedDtype::File}});

}  // namespace levin
