#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.h"

/// Passes each seed to a fuzz target, whole and truncated at many lengths.
inline void replay(const std::vector<std::string>& seeds, void (*target)(const std::string&)) {
  for (size_t number = 0; number < seeds.size(); ++number) {
    const std::string& seed = seeds[number];
    for (size_t size = seed.size() + 1; size-- > 0; size -= std::min<size_t>(size, 6)) {
      INFO("seed " << number << ", " << size << " bytes");
      CHECK_NOTHROW(target(seed.substr(0, size)));
    }
  }
}
