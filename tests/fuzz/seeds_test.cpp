#include "tests/catch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"

TEST_CASE("the fuzzers' seeds, whole and cut off in many places, break no promise") {
  replay(levin::testing::config_seeds(), levin::testing::fuzz_config);
  replay(levin::testing::flag_seeds(), levin::testing::fuzz_flags);
  replay(levin::testing::http_request_seeds(), levin::testing::fuzz_http_request);
}
