#include <levin/modules/optim/engine/block_roots.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/sqrt_cpu_dispatch.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

namespace levin::optim::detail {
namespace {

#if defined(__x86_64__)

/// Runs a loop over the last numbers, which are fewer than its vectors have.
template <int64_t kLanes>
void take_last_roots(TakeRoots loop, float* numbers, int64_t count) {
  if (count == 0) return;
  float all[kLanes] = {};
  std::copy_n(numbers, count, all);
  loop(all, kLanes);
  std::copy_n(all, count, numbers);
}

/// An estimate y of 1 / sqrt(x), s = x * y, and Heron's step s + (x - s * s) * y / 2. Numbers below 2^-64 are
/// multiplied by 2^64, so that nothing in between is denormal.
[[gnu::target("avx512f")]] void roots_by_avx512(float* numbers, int64_t count) {
  constexpr int64_t kLanes = 16;
  for (; count >= kLanes; count -= kLanes, numbers += kLanes) {
    const __m512 given = _mm512_loadu_ps(numbers);
    const __mmask16 small = _mm512_cmp_ps_mask(given, _mm512_set1_ps(0x1p-64F), _CMP_LT_OQ);
    const __m512 x = _mm512_mask_mul_ps(given, small, given, _mm512_set1_ps(0x1p64F));
    const __m512 y = _mm512_maskz_rsqrt14_ps(0xFFFF, x);  // GCC 12 warns of the one without a mask
    const __m512 s = _mm512_mul_ps(x, y);
    const __m512 rest = _mm512_fnmadd_ps(s, s, x);
    const __m512 root = _mm512_fmadd_ps(rest, _mm512_mul_ps(y, _mm512_set1_ps(0.5F)), s);
    const __m512 scaled = _mm512_mask_mul_ps(root, small, root, _mm512_set1_ps(0x1p-32F));
    const __mmask16 stays =
        _mm512_cmp_ps_mask(given, _mm512_setzero_ps(), _CMP_EQ_OQ) |
        _mm512_cmp_ps_mask(given, _mm512_set1_ps(std::numeric_limits<float>::infinity()), _CMP_EQ_OQ);
    _mm512_storeu_ps(numbers, _mm512_mask_mov_ps(scaled, stays, given));
  }
  take_last_roots<kLanes>(&roots_by_avx512, numbers, count);
}

/// An estimate y of 1 / sqrt(x), Goldschmidt's step for s = x * y and h = y / 2, and Heron's step with both. Denormal
/// numbers, 0 and infinity by the processor's instruction.
/// Source: P. Markstein, Software Division and Square Root Using Goldschmidt's Algorithms, 2004
[[gnu::target("avx2,fma")]] void roots_by_avx2(float* numbers, int64_t count) {
  constexpr int64_t kLanes = 8;
  const __m256 half = _mm256_set1_ps(0.5F);
  for (; count >= kLanes; count -= kLanes, numbers += kLanes) {
    const __m256 x = _mm256_loadu_ps(numbers);
    const __m256 y = _mm256_rsqrt_ps(x);
    const __m256 s = _mm256_mul_ps(x, y), h = _mm256_mul_ps(y, half);
    const __m256 error = _mm256_fnmadd_ps(s, h, half);
    const __m256 s2 = _mm256_fmadd_ps(s, error, s), h2 = _mm256_fmadd_ps(h, error, h);
    const __m256 root = _mm256_fmadd_ps(h2, _mm256_fnmadd_ps(s2, s2, x), s2);
    const __m256 special =
        _mm256_or_ps(_mm256_cmp_ps(x, _mm256_set1_ps(std::numeric_limits<float>::min()), _CMP_LT_OQ),
                     _mm256_cmp_ps(x, _mm256_set1_ps(std::numeric_limits<float>::infinity()), _CMP_EQ_OQ));
    const bool is_plain = _mm256_movemask_ps(special) == 0;
    _mm256_storeu_ps(numbers, is_plain ? root : _mm256_blendv_ps(root, _mm256_sqrt_ps(x), special));
  }
  take_last_roots<kLanes>(&roots_by_avx2, numbers, count);
}

/// The numbers by which loops are compared with at::sqrt: 65,536 from 1 to 4, which have all kinds of roots, 176 of
/// each exponent, and infinity.
std::vector<float> test_numbers() {
  constexpr uint32_t kOfOneToFour = 1 << 16, kExponents = 255, kOfExponent = 176;
  std::vector<float> numbers;
  numbers.reserve(kOfOneToFour + kExponents * kOfExponent + 1);
  const auto add = [&](uint32_t exponent, uint32_t fraction) {
    numbers.push_back(std::bit_cast<float>(exponent << 23 | (fraction & 0x7FFFFF)));
  };
  for (uint32_t i = 0; i < kOfOneToFour; ++i) add(127 + i % 2, i * 2'654'435'761U >> 9);
  for (uint32_t e = 0; e < kExponents; ++e)
    for (uint32_t i = 0; i < kOfExponent; ++i) add(e, i * 47'653U);
  add(kExponents, 0);
  return numbers;
}

/// Returns whether a loop has the bits of at::sqrt for the test numbers. Tensors are small, so that a limit of memory
/// is not passed by a step's first use.
bool has_bits_of_torch(TakeRoots loop) {
  constexpr int64_t kAtOnce = 4096;
  std::vector<float> numbers = test_numbers();
  const auto count = static_cast<int64_t>(numbers.size());
  for (int64_t begin = 0; begin < count; begin += kAtOnce) {
    float* const place = numbers.data() + begin;
    const int64_t length = std::min(kAtOnce, count - begin);
    const at::Tensor roots = at::cpu::sqrt(at::from_blob(place, {length}, at::kFloat));
    loop(place, length);
    if (std::memcmp(place, roots.const_data_ptr<float>(), roots.nbytes()) != 0) return false;
  }
  return true;
}

/// Returns whether the thread's arithmetic takes denormal numbers for 0, in operands or results.
bool flushes_denormals() { return (_mm_getcsr() & 0x8040U) != 0; }

TakeRoots choose_roots() {
  if (__builtin_cpu_supports("avx512f") && has_bits_of_torch(&roots_by_avx512)) return &roots_by_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_bits_of_torch(&roots_by_avx2))
    return &roots_by_avx2;
  return nullptr;
}

#endif

}  // namespace

TakeRoots roots_like_torch() {
#if defined(__x86_64__)
  if (flushes_denormals()) return nullptr;
  static const TakeRoots chosen = choose_roots();
  return chosen;
#else
  return nullptr;
#endif
}

}  // namespace levin::optim::detail
