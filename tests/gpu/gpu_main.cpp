// The tests that need a GPU: run where LibTorch sees one, skipped with the reason elsewhere.
#include <levin/trainer/core/accelerator.h>

#include <cstdio>

#define CATCH_CONFIG_RUNNER
#include "tests/catch.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const levin::VisibleGpus& gpus = levin::visible_gpus();
  if (gpus.count == 0) {
    std::printf("SKIPPED: %s\n", gpus.built_with_cuda ? "this process sees no GPU" : "LibTorch is built without CUDA");
    return kSkipped;
  }
  return Catch::Session().run(argc, argv);
}
