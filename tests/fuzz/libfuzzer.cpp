#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/fuzz/fuzz.h"

// LEVIN_FUZZ_TARGET and LEVIN_FUZZ_SEEDS are the functions of one target.

/// Writes the seeds into the folder that LEVIN_FUZZ_CORPUS names, where libFuzzer looks for inputs next.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* folder = std::getenv("LEVIN_FUZZ_CORPUS");
  if (!folder) return 0;
  size_t number = 0;
  for (const std::string& seed : levin::testing::LEVIN_FUZZ_SEEDS())
    std::ofstream(std::string(folder) + "/seed_" + std::to_string(number++), std::ios::binary) << seed;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  levin::testing::LEVIN_FUZZ_TARGET(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
