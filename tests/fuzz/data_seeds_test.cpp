#include "tests/catch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"

TEST_CASE("the seeds of the fuzzed file formats, whole and cut off in many places, break no promise") {
  replay(levin::testing::png_seeds(), levin::testing::fuzz_png);
  replay(levin::testing::jpeg_seeds(), levin::testing::fuzz_jpeg);
  replay(levin::testing::tiff_seeds(), levin::testing::fuzz_tiff);
  replay(levin::testing::webp_seeds(), levin::testing::fuzz_webp);
  replay(levin::testing::idx_seeds(), levin::testing::fuzz_idx);
  replay(levin::testing::npy_seeds(), levin::testing::fuzz_npy);
  replay(levin::testing::csv_seeds(), levin::testing::fuzz_csv);
  replay(levin::testing::tar_seeds(), levin::testing::fuzz_tar);
}
