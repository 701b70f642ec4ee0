#pragma once
#include <stdexcept>

namespace levin::testing {

/// Throws std::logic_error with the promise that does not hold, which no reader of bad input catches.
inline void expect(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(promise);
}

}  // namespace levin::testing
