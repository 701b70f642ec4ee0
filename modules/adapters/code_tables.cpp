#include <levin/modules/adapters/code_tables.h>

#include <algorithm>
#include <cmath>

namespace levin::adapters {
namespace {

constexpr std::array<float, 16> kNF4 = {-1.0F,
                                        -0.6961928009986877F,
                                        -0.5250730514526367F,
                                        -0.39491748809814453F,
                                        -0.28444138169288635F,
                                        -0.18477343022823334F,
                                        -0.09105003625154495F,
                                        0.0F,
                                        0.07958029955625534F,
                                        0.16093020141124725F,
                                        0.24611230194568634F,
                                        0.33791524171829224F,
                                        0.44070982933044434F,
                                        0.5626170039176941F,
                                        0.7229568362236023F,
                                        1.0F};

std::array<float, 256> make_dynamic_values() {
  constexpr int kExponents = 7;
  std::array<float, 256> values = {};
  size_t next = 0;
  for (int exponent = 0; exponent < kExponents; ++exponent) {
    const int fractions = 1 << exponent;
    const double power = std::pow(10.0, exponent - (kExponents - 1));
    for (int i = 0; i < fractions; ++i) {
      const double fraction = 0.1 + 0.9 * (i + 0.5) / fractions;
      values[next++] = static_cast<float>(power * fraction);
      values[next++] = static_cast<float>(-power * fraction);
    }
  }
  values[next++] = 0;
  values[next] = 1;
  std::ranges::sort(values);
  return values;
}

}  // namespace

const std::array<float, 16>& nf4_values() { return kNF4; }

const std::array<float, 256>& dynamic_values() {
  static const std::array<float, 256> values = make_dynamic_values();
  return values;
}

}  // namespace levin::adapters
