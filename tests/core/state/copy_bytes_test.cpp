#include <levin/core/state/copy_bytes.h>

#include <cstdint>
#include <string>

#include "tests/catch.h"

namespace {

constexpr size_t kMargin = 64;

std::string numbered(size_t bytes) {
  std::string text(bytes, '\0');
  uint32_t state = 1;
  for (char& byte : text) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

TEST_CASE("copy_bytes copies every byte and none beyond, whatever the size and the alignment", "[copy_bytes]") {
  constexpr size_t kMegabyte = size_t{1} << 20;
  const std::string from = numbered(5 * kMegabyte);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, kMegabyte - 1, 2 * kMegabyte, 2 * kMegabyte + 1,
                             3 * kMegabyte - 5, 4 * kMegabyte + 77}) {
    for (const size_t to_offset : {size_t{0}, size_t{1}, size_t{15}, size_t{63}}) {
      for (const size_t from_offset : {size_t{0}, size_t{7}}) {
        INFO(bytes << " bytes from " << from_offset << " to " << to_offset);
        std::string to(bytes + 2 * kMargin, '#');
        levin::copy_bytes(to.data() + to_offset, from.data() + from_offset, bytes);
        const std::string expected =
            std::string(to_offset, '#') + from.substr(from_offset, bytes) + std::string(2 * kMargin - to_offset, '#');
        CHECK((to == expected));
      }
    }
  }
}

}  // namespace
