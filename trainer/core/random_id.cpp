#include <levin/trainer/core/random_id.h>

#include <cstdint>
#include <random>

namespace levin {

std::string random_id() {
  constexpr const char* kDigits = "0123456789abcdef";
  std::random_device system;
  std::string id;
  for (int word = 0; word < 4; ++word) {
    const uint32_t bits = system();
    for (int shift = 28; shift >= 0; shift -= 4) id += kDigits[(bits >> static_cast<unsigned>(shift)) & 15U];
  }
  return id;
}

}  // namespace levin
