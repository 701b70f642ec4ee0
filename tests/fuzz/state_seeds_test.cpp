#include <algorithm>

#include "tests/catch.h"
#include "tests/fuzz/fuzz.h"

namespace {

void replay(const std::vector<std::string>& seeds, void (*target)(const std::string&)) {
  for (size_t number = 0; number < seeds.size(); ++number) {
    const std::string& seed = seeds[number];
    for (size_t size = seed.size() + 1; size-- > 0; size -= std::min<size_t>(size, 6)) {
      INFO("seed " << number << ", " << size << " bytes");
      CHECK_NOTHROW(target(seed.substr(0, size)));
    }
  }
}

}  // namespace

TEST_CASE("the seeds of the fuzzed state files, whole and cut off in many places, break no promise") {
  replay(levin::testing::state_file_seeds(), levin::testing::fuzz_state_file);
  replay(levin::testing::pickle_seeds(), levin::testing::fuzz_pickle);
}
