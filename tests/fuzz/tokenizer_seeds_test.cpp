#include "tests/catch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"

TEST_CASE("the seeds of the fuzzed tokenizers, whole and cut off in many places, break no promise") {
  replay(levin::testing::tokenizer_seeds(), levin::testing::fuzz_tokenizer);
}
