#pragma once
#include <c10/core/ScalarType.h>
#include <levin/core/options/choice.h>

#include <cstdint>
#include <optional>

namespace levin {
namespace parallel {

/// The dtype in which gradients or parameters are sent between the ranks; None: their own.
enum class Compression : uint8_t { None, Float16, BFloat16 };

/// Returns that dtype; nothing for None.
inline std::optional<at::ScalarType> dtype_of(Compression compression) {
  switch (compression) {
    case Compression::Float16:
      return at::kHalf;
    case Compression::BFloat16:
      return at::kBFloat16;
    case Compression::None:
      break;
  }
  return {};
}

}  // namespace parallel

template <>
inline constexpr auto kWords<parallel::Compression> =
    words_of<parallel::Compression>({{"none", parallel::Compression::None},
                                     {"fp16", parallel::Compression::Float16},
                                     {"bf16", parallel::Compression::BFloat16}});

}  // namespace levin
