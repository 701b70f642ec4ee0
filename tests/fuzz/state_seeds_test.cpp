#include "tests/catch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"

TEST_CASE("the seeds of the fuzzed state files, whole and cut off in many places, break no promise") {
  replay(levin::testing::state_file_seeds(), levin::testing::fuzz_state_file);
  replay(levin::testing::pickle_seeds(), levin::testing::fuzz_pickle);
}
