#include "tests/catch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"

TEST_CASE("the seeds of the fuzzed programs, whole and cut off in many places, break no promise") {
  replay(levin::testing::program_seeds(), levin::testing::fuzz_program);
  replay(levin::testing::program_operators_seeds(), levin::testing::fuzz_program_operators);
}
