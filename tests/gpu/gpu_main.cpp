// The tests that need a GPU: run if LibTorch sees one, otherwise skipped with the reason.
//
// Each test ends with a line that scripts/gpu_bundle/run.sh counts:
//   gpu_test: passed 1.2 s NAME
#include <levin/core/device/gpu_discovery.h>

#include <chrono>
#include <cstdio>

#define CATCH_CONFIG_RUNNER
#include "tests/gpu/skipped.h"
#include "tests/seeded_cases.h"

namespace {

class TestLines final : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    name_ = test.name;
    begun_ = std::chrono::steady_clock::now();
    skipped_reason().clear();
    // If the process hangs or dies, this is the last line.
    std::printf("gpu_test: began %s\n", name_.c_str());
    std::fflush(stdout);
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    const bool skipped = !skipped_reason().empty();
    const char* const how = stats.totals.assertions.failed > 0 ? "failed" : skipped ? "skipped" : "passed";
    std::printf("gpu_test: %s %.1f s %s%s%s\n", how, seconds, name_.c_str(), skipped ? ": " : "",
                skipped_reason().c_str());
    std::fflush(stdout);
  }

 private:
  std::string name_ = {};
  std::chrono::steady_clock::time_point begun_ = {};
};
CATCH_REGISTER_LISTENER(TestLines)

}  // namespace

std::string& skipped_reason() {
  static std::string reason;
  return reason;
}

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const levin::VisibleGpus& gpus = levin::visible_gpus();
  if (gpus.count == 0) {
    std::printf("SKIPPED: %s\n", gpus.built_with_cuda ? "this process sees no GPU" : "LibTorch is built without CUDA");
    return kSkipped;
  }
  return Catch::Session().run(argc, argv);
}
