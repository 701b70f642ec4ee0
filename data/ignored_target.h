#pragma once
#include <cstdint>

namespace levin {

/// The target of a token that does not count in the loss: ignore_index of torch.nn.CrossEntropyLoss.
inline constexpr int64_t kIgnoredTarget = -100;

}  // namespace levin
