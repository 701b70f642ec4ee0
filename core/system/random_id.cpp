#include <levin/core/system/random_id.h>
#include <levin/core/system/hex_digits.h>

#include <cstdint>
#include <random>

namespace levin {

std::string random_id() {
  std::random_device system;
  std::string bytes;
  for (int word = 0; word < 4; ++word) {
    const uint32_t bits = system();
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }
  return hex_digits(bytes);
}

}  // namespace levin
