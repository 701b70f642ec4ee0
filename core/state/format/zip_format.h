#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace levin {

/// The parts of the zip format that state files need. Format: APPNOTE.TXT of PKWARE, sections 4.3 to 4.5.
namespace zip {

constexpr std::string_view kLocalHeader = "PK\x03\x04", kDirectoryEntry = "PK\x01\x02", kEnd = "PK\x05\x06",
                           kEnd64 = "PK\x06\x06", kEnd64Locator = "PK\x06\x07", kDataDescriptor = "PK\x07\x08";
constexpr size_t kLocalHeaderBytes = 30, kDirectoryEntryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                 kEnd64LocatorBytes = 20;

constexpr uint16_t kStored = 0, kDeflated = 8;
/// The highest compression ratio of deflate: 258 bytes in 2 bits.
constexpr uint64_t kMostDeflated = 1032;
/// Flag bits: encrypted (in three ways) or patched; sizes and CRC after the data; the name is UTF-8.
constexpr uint16_t kUnreadable = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 13, kHasDataDescriptor = 1 << 3, kUtf8 = 1 << 11;

/// These values mean that the actual number is in the zip64 extra field.
constexpr uint32_t kIn64 = 0xffffffff;
constexpr uint16_t kCountIn64 = 0xffff, kExtra64 = 1;

/// Returns the little-endian number of `width` bytes at `at`, which must be inside `bytes`.
inline uint64_t number(std::string_view bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

inline void append(std::string& bytes, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i, value >>= 8) bytes += static_cast<char>(value & 0xff);
}

}  // namespace zip
}  // namespace levin
