#include <levin/program/runs/recorded_run.h>

#include "tests/catch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"

TEST_CASE("the seeds of the fuzzed runs, whole and cut off in many places, break no promise") {
  replay(levin::testing::recorded_run_seeds(), levin::testing::fuzz_recorded_run);
}
