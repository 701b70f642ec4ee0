#include <algorithm>

#include "tests/catch.h"
#include "tests/fuzz/fuzz.h"

namespace {

void replay(const std::vector<std::string>& seeds, void (*target)(const std::string&)) {
  for (const std::string& seed : seeds)
    for (size_t size = seed.size() + 1; size-- > 0; size -= std::min<size_t>(size, 6)) {
      const std::string input = seed.substr(0, size);
      INFO(input);
      CHECK_NOTHROW(target(input));
    }
}

}  // namespace

TEST_CASE("the fuzzers' seeds, whole and cut off in many places, break no promise") {
  replay(levin::testing::config_seeds(), levin::testing::fuzz_config);
  replay(levin::testing::flag_seeds(), levin::testing::fuzz_flags);
}
