#include <levin/trainer/compiled/step_description.h>

#include "tests/catch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"

TEST_CASE("a package of the fuzz target's seeds is one that levin reads") {
  const levin::FileBytes file = levin::copy_file_bytes(levin::testing::compiled_package_seeds().front(), "step.pt2");
  const levin::compiled::StepDescription description = levin::compiled::read_step_description(file);
  CHECK(description.inputs.size() == 4);
  CHECK(description.inputs[3].to_text(4) == "float32 [4, 2]");
  CHECK(description.gradients == std::vector<size_t>{0});
}

TEST_CASE("the seeds of the fuzzed packages, whole and cut off in many places, break no promise") {
  replay(levin::testing::compiled_package_seeds(), levin::testing::fuzz_compiled_package);
  replay(levin::testing::compiled_description_seeds(), levin::testing::fuzz_compiled_description);
}
