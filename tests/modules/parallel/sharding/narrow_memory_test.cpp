// Memory that is sent in 16 bit: converted in place, without a copy of its size.
#include <levin/modules/parallel/sharding/narrow_memory.h>

#include <torch/torch.h>

#include "tests/catch.h"
#include "tests/modules/parallel/seeded_numbers.h"

using levin::parallel::narrow;
using levin::parallel::narrow_end;
using levin::parallel::narrower;
using levin::parallel::widen;

TEST_CASE("elements are narrowed and widened in the same memory, as a copy would be") {
  uint64_t seed = 0;
  for (const auto wide : {torch::kFloat, torch::kDouble})
    for (const auto dtype : {torch::kHalf, torch::kBFloat16})
      for (const int64_t size : {0, 1, 2, 4095, 4096, 4097, 10000, 65536, 99999}) {
        INFO(wide << " as " << dtype << ", " << size << " elements");
        // Inside larger memory, as a block of a unit is.
        const torch::Tensor memory = numbers(++seed, {size + 16}).to(wide), before = memory.clone();
        const torch::Tensor block = memory.narrow(0, 16, size), expected = block.to(dtype);
        const torch::Tensor sent = narrow(block, dtype);
        CHECK(torch::equal(sent, expected));
        narrow_end(block, dtype).copy_(sent.clone());
        CHECK(torch::equal(sent, expected));  // they do not overlap
        widen(block, dtype);
        CHECK(torch::equal(block, expected.to(wide)));
        CHECK(torch::equal(memory.narrow(0, 0, 16), before.narrow(0, 0, 16)));
      }
}

TEST_CASE("only floating-point dtypes with more bytes are sent in 16 bit") {
  CHECK(narrower(torch::kFloat, torch::kHalf) == torch::kHalf);
  CHECK(narrower(torch::kDouble, torch::kBFloat16) == torch::kBFloat16);
  CHECK_FALSE(narrower(torch::kFloat, {}));
  CHECK_FALSE(narrower(torch::kBFloat16, torch::kHalf));
  CHECK_FALSE(narrower(torch::kLong, torch::kHalf));
}
