#include <levin/core/state/crc32.h>
#include <zlib.h>

#include <random>
#include <string>

#include "tests/catch.h"

using levin::crc32_of;

namespace {

uint32_t by_zlib(std::string_view bytes, uint32_t before = 0) {
  return static_cast<uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string random_bytes(size_t count) {
  std::mt19937 random(3);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

}  // namespace

TEST_CASE("a CRC-32 is that of zlib, for any length, place and start") {
  CHECK(crc32_of("") == 0);
  CHECK(crc32_of("123456789") == 0xcbf43926);  // the check value of the CRC's definition
  const std::string bytes = random_bytes(10'000);
  std::mt19937 random(5);
  for (int i = 0; i < 5'000; ++i) {
    const std::string_view part = std::string_view(bytes).substr(random() % 5'000, random() % 5'000);
    const auto before = static_cast<uint32_t>(random());
    CAPTURE(part.size(), before);
    REQUIRE(crc32_of(part, before) == by_zlib(part, before));
  }
}

TEST_CASE("the CRC-32 of each part is that of the whole part, however it was divided") {
  const std::string bytes = random_bytes(5'000'000);
  const std::string_view view = bytes;
  const std::vector<uint32_t> crcs = levin::crc32_of_each({view, "", view.substr(1, 1 << 20), view.substr(7)});
  CHECK(crcs == std::vector<uint32_t>{by_zlib(view), 0, by_zlib(view.substr(1, 1 << 20)), by_zlib(view.substr(7))});
  CHECK(levin::crc32_of_each({}).empty());
}
