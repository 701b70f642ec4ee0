#include <levin/data/files/decompress.h>

#include <algorithm>
#include <array>

namespace levin::data {

bool is_compressed(std::string_view bytes) {
  constexpr std::array<std::string_view, 5> kBeginnings = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd\x37zXZ", "BZh",
                                                           "\x04\x22\x4d\x18"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view begin) { return bytes.starts_with(begin); });
}

}  // namespace levin::data
