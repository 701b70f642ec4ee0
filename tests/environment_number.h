#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>

/// Returns the whole number in an environment variable; `otherwise` if it is not set.
inline int64_t number_from_environment(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoll(text);
}
