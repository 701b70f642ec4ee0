#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace levin::data::tokenizers {

/// Mixes the bits of two numbers.
inline uint64_t mix_bits(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15ULL) * (b ^ 0xD6E8FEB86659FD93ULL);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/// Returns a hash of a text's bytes, for tables in memory.
inline uint64_t hash_text(std::string_view text) {
  const auto word = [](const char* from, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, from, bytes);
    return value;
  };
  const char* from = text.data();
  size_t rest = text.size();
  uint64_t hash = rest;
  for (; rest > 8; rest -= 8, from += 8) hash = mix_bits(hash, word(from, 8));
  return mix_bits(hash, word(from, rest));
}

}  // namespace levin::data::tokenizers
