#pragma once
#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace levin::testing {

inline std::string big_endian(uint64_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255);
  return bytes;
}

inline std::string png_chunk(const std::string& name, const std::string& data) {
  const std::string checked = name + data;
  const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(data.size()) + checked + big_endian(sum);
}

struct PngParts {
  uint32_t width = 1, height = 1;
  int bit_depth = 8;
  int color_type = 0;  ///< 0: gray, 2: colour, 3: palette, 4: gray and alpha, 6: colour and alpha
  bool interlaced = false;
  std::string chunks = {};  ///< chunks between header and pixels
  std::string rows = {};    ///< each row starts with the number of its filter
};

/// Returns the bytes of a PNG file of any kind, valid or not.
inline std::string make_png(const PngParts& parts) {
  uLong size = compressBound(static_cast<uLong>(parts.rows.size()));
  std::string packed(size, '\0');
  const auto* rows = reinterpret_cast<const Bytef*>(parts.rows.data());
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size, rows, static_cast<uLong>(parts.rows.size())) != Z_OK) {
    throw std::runtime_error("compress");
  }
  packed.resize(size);
  const std::string kind = {static_cast<char>(parts.bit_depth), static_cast<char>(parts.color_type), 0, 0,
                            static_cast<char>(parts.interlaced)};
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", big_endian(parts.width) + big_endian(parts.height) + kind) +
         parts.chunks + png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

/// Converts small numbers to bytes.
inline std::string bytes_of(const std::vector<int>& values) { return {values.begin(), values.end()}; }

}  // namespace levin::testing
