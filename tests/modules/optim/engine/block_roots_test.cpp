// Levin's own loops for square roots have the bits of at::sqrt. LEVIN_ALL_ROOTS=1 compares all positive floats (half a
// minute) in place of a part of each exponent; MKL_ENABLE_INSTRUCTIONS=AVX2 has MKL, and so levin, take the other loop.
#include <levin/modules/optim/engine/block_roots.h>
#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/sqrt.h>

#include <bit>
#include <cstdlib>
#include <cstring>

#include "tests/catch.h"

using levin::optim::detail::roots_like_torch;

namespace {

constexpr uint32_t kFractions = 1 << 23;

bool has_same_bits(const at::Tensor& a, const at::Tensor& b) {
  return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

}  // namespace

TEST_CASE("roots have the bits of at::sqrt for each exponent, denormal numbers, 0 and infinity") {
  const auto take_roots = roots_like_torch();
  if (take_roots == nullptr) {
    WARN("no loop of levin's has the bits of at::sqrt on this processor");
    return;
  }
  const uint32_t step = std::getenv("LEVIN_ALL_ROOTS") != nullptr ? 1 : 1021;
  const at::Tensor numbers = at::empty({kFractions / step + 1}, at::kFloat);
  auto* const place = numbers.mutable_data_ptr<float>();
  for (uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (uint32_t i = 0; i < numbers.numel(); ++i)
      place[i] = std::bit_cast<float>(exponent << 23 | (exponent < 255 ? (i * step + exponent) % kFractions : 0));
    const at::Tensor roots = at::sqrt(numbers);
    take_roots(place, numbers.numel());
    CAPTURE(exponent);
    REQUIRE(has_same_bits(numbers, roots));
  }
}

TEST_CASE("roots of any number of elements leave their neighbours alone") {
  const auto take_roots = roots_like_torch();
  if (take_roots == nullptr) return;
  for (int64_t begin = 0; begin < 17; ++begin)
    for (int64_t count = 0; count < 70; ++count) {
      at::Tensor ours = at::rand({100}, at::kFloat), theirs = ours.clone();
      take_roots(ours.mutable_data_ptr<float>() + begin, count);
      theirs.narrow(0, begin, count).sqrt_();
      REQUIRE(has_same_bits(ours, theirs));
    }
}

TEST_CASE("where denormal numbers are 0, at::sqrt takes the roots") {
  REQUIRE(at::globalContext().setFlushDenormal(true));
  const auto take_roots = roots_like_torch();
  at::globalContext().setFlushDenormal(false);
  CHECK(take_roots == nullptr);
}
