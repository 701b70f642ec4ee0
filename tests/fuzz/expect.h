#pragma once
#include <stdexcept>

namespace levin::testing {

/// Throws std::logic_error with `promise` if the promise does not hold; no reader of invalid input catches that type.
inline void expect(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(promise);
}

}  // namespace levin::testing
