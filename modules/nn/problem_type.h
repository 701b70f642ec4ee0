#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {
namespace nn {

/// What a classifier learns: one class of a sample, any number of labels, or numbers. The words are transformers'.
enum class ProblemType : uint8_t { Auto, SingleLabel, MultiLabel, Regression };

}  // namespace nn

template <>
inline constexpr auto kWords<nn::ProblemType> =
    words_of<nn::ProblemType>({{"auto", nn::ProblemType::Auto},
                               {"single_label_classification", nn::ProblemType::SingleLabel},
                               {"multi_label_classification", nn::ProblemType::MultiLabel},
                               {"regression", nn::ProblemType::Regression}});

}  // namespace levin
