#include <levin/core/state/crc32.h>

#include <ATen/Parallel.h>
#include <levin/core/system/start_thread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace levin {
namespace {

uint32_t crc32_by_zlib(std::string_view bytes, uint32_t before) {
  return static_cast<uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

#if defined(__x86_64__) && defined(__GNUC__)

/// Returns x^`power` modulo the polynomial, bit-reversed and shifted by one, as carry-less multiplication needs it.
constexpr uint64_t fold_factor(unsigned power) {
  uint32_t rest = 0x80000000u;  // x^0
  for (unsigned i = 0; i < power; ++i) rest = rest >> 1 ^ (rest & 1 ? 0xedb88320u : 0u);
  return uint64_t{rest} << 1;
}

/// Returns the factors that move 16 bytes forward by `bits` bits: one for each half of the 16 bytes.
constexpr std::array<uint64_t, 2> fold_factors(unsigned bits) {
  return {fold_factor(bits + 32), fold_factor(bits - 32)};
}

constexpr size_t kRegisters = 4;
constexpr size_t kFewBytes = 512;  ///< zlib is as fast for fewer

/// Folds the bytes into registers of 16 bytes, whose final contents have the same remainder as all bytes.
__attribute__((target("pclmul,sse4.1"))) uint32_t crc32_by_16(std::string_view bytes, uint32_t before) {
  constexpr auto kFactors = fold_factors(kRegisters * 128);
  const __m128i factors = _mm_set_epi64x(static_cast<int64_t>(kFactors[1]), static_cast<int64_t>(kFactors[0]));
  const char* next = bytes.data();
  const auto load = [](const char* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  __m128i sums[kRegisters];
  for (size_t i = 0; i < kRegisters; ++i) sums[i] = load(next + 16 * i);
  sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(static_cast<int>(~before)));
  const char* end = bytes.data() + bytes.size() / sizeof(sums) * sizeof(sums);
  for (next += sizeof(sums); next != end; next += sizeof(sums)) {
    for (size_t i = 0; i < kRegisters; ++i) {
      const __m128i low = _mm_clmulepi64_si128(sums[i], factors, 0x00);
      const __m128i high = _mm_clmulepi64_si128(sums[i], factors, 0x11);
      sums[i] = _mm_xor_si128(_mm_xor_si128(low, high), load(next + 16 * i));
    }
  }
  std::array<char, sizeof(sums)> held;
  std::memcpy(held.data(), sums, sizeof(sums));
  const uint32_t crc = crc32_by_zlib({held.data(), held.size()}, ~0u);
  return crc32_by_zlib(bytes.substr(static_cast<size_t>(end - bytes.data())), crc);
}

/// Does the same with registers of 64 bytes.
__attribute__((target("avx512f,avx512vl,avx512bw,vpclmulqdq,pclmul"))) uint32_t crc32_by_64(std::string_view bytes,
                                                                                            uint32_t before) {
  constexpr auto kFactors = fold_factors(kRegisters * 512);
  constexpr auto kFirst = static_cast<int64_t>(kFactors[0]), kSecond = static_cast<int64_t>(kFactors[1]);
  const __m512i factors = _mm512_set_epi64(kSecond, kFirst, kSecond, kFirst, kSecond, kFirst, kSecond, kFirst);
  const char* next = bytes.data();
  __m512i sums[kRegisters];
  for (size_t i = 0; i < kRegisters; ++i) sums[i] = _mm512_loadu_si512(next + 64 * i);
  sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~before))));
  const char* end = bytes.data() + bytes.size() / sizeof(sums) * sizeof(sums);
  for (next += sizeof(sums); next != end; next += sizeof(sums)) {
    for (size_t i = 0; i < kRegisters; ++i) {
      const __m512i low = _mm512_clmulepi64_epi128(sums[i], factors, 0x00);
      const __m512i high = _mm512_clmulepi64_epi128(sums[i], factors, 0x11);
      sums[i] = _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(next + 64 * i), 0x96);
    }
  }
  std::array<char, sizeof(sums)> held;
  std::memcpy(held.data(), sums, sizeof(sums));
  const uint32_t crc = crc32_by_zlib({held.data(), held.size()}, ~0u);
  return crc32_by_zlib(bytes.substr(static_cast<size_t>(end - bytes.data())), crc);
}

using Crc32 = uint32_t (*)(std::string_view, uint32_t);

Crc32 fastest_crc32() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("vpclmulqdq"))
    return crc32_by_64;
  return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1") ? crc32_by_16 : crc32_by_zlib;
}

#endif

/// Asks the system to map all pages of a file at once, which takes a fraction of the time of one page fault each.
void ask_for_pages([[maybe_unused]] std::string_view bytes) {
#ifdef MADV_POPULATE_READ
  constexpr size_t kFewBytesOfFile = 1 << 16;
  if (bytes.size() < kFewBytesOfFile) return;
  static const auto kPageBytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()), end = begin + bytes.size();
  const uintptr_t page = begin / kPageBytes * kPageBytes;
  // An error (a kernel before 5.14, or no such page) is ignored: reading the bytes then maps them.
  ::madvise(reinterpret_cast<void*>(page), end - page, MADV_POPULATE_READ);
#endif
}

}  // namespace

#if defined(__x86_64__) && defined(__GNUC__)
uint32_t crc32_of(std::string_view bytes, uint32_t before) {
  static const Crc32 kFastest = fastest_crc32();
  return (bytes.size() < kFewBytes ? crc32_by_zlib : kFastest)(bytes, before);
}
#else
uint32_t crc32_of(std::string_view bytes, uint32_t before) { return crc32_by_zlib(bytes, before); }
#endif

std::vector<uint32_t> crc32_of_each(const std::vector<std::string_view>& parts) {
  constexpr size_t kPiece = 4 << 20;
  struct Piece {
    size_t part;
    std::string_view bytes;
    uint32_t crc = 0;
  };
  std::vector<Piece> pieces;
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t at = 0; at < parts[i].size(); at += kPiece) pieces.push_back({i, parts[i].substr(at, kPiece)});
  // Each thread takes the next piece, since other work may keep some cores busy.
  std::atomic<size_t> next = 0;
  auto threads = std::min<int64_t>(at::get_num_threads(), static_cast<int64_t>(pieces.size()));
  // OpenMP makes threads for each thread that first computes with several, as the one that writes checkpoints, and ends
  // the process if it cannot.
  static thread_local bool has_threads = false;
  if (threads > 1 && !has_threads) has_threads = can_start_threads(at::get_num_threads() - 1);
  if (!has_threads) threads = std::min<int64_t>(threads, 1);
  at::parallel_for(0, threads, 1, [&](int64_t, int64_t) {
    for (size_t i = next++; i < pieces.size(); i = next++) {
      ask_for_pages(pieces[i].bytes);
      pieces[i].crc = crc32_of(pieces[i].bytes);
    }
  });
  std::vector<uint32_t> crcs(parts.size(), 0);
  for (const Piece& piece : pieces) {
    uint32_t& crc = crcs[piece.part];
    crc = static_cast<uint32_t>(::crc32_combine(crc, piece.crc, static_cast<z_off_t>(piece.bytes.size())));
  }
  return crcs;
}

}  // namespace levin
