#include <levin/core/system/heap.h>
#include <ATen/ops/ones.h>
#include <sys/resource.h>

#include "tests/catch.h"

namespace levin {
namespace {

/// Returns the pages that the system gave while tensors of 8 and 48 MB were allocated and freed.
long pages_given() {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 10; ++i) {
    const at::Tensor small = at::ones({2 << 20}, at::kFloat), large = at::ones({12 << 20}, at::kFloat);
  }
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST_CASE("a kept heap asks the system once for memory that is used again and again") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
  WARN("not glibc's heap: nothing to test");
  return;
#endif
  constexpr long kPagesOfOneRound = 56 * 256;  // of 4 KiB; fewer if pages are larger
  {
    const HeapRetention outer;
    {
      const HeapRetention inner;
      pages_given();
    }
    CHECK(pages_given() < kPagesOfOneRound / 10);  // the outer scope still lives
  }
  const long without = pages_given();
  CHECK(without > kPagesOfOneRound);  // the tensors of 48 MB take new pages each time
}

}  // namespace
}  // namespace levin
