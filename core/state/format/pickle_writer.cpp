#include <levin/core/state/format/pickle_writer.h>
#include <levin/core/state/format/pickle_text.h>
#include <levin/core/system/error.h>

#include <bit>
#include <limits>
#include <utility>

namespace levin {

void PickleWriter::write_little_endian(uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> (8 * i));
}

void PickleWriter::write_int(int64_t value) {
  if (value >= 0 && value <= std::numeric_limits<uint8_t>::max()) {
    bytes_ += 'K';
    write_little_endian(static_cast<uint64_t>(value), 1);
  } else if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) {
    bytes_ += 'J';
    write_little_endian(static_cast<uint64_t>(value), 4);
  } else {
    bytes_ += "\x8a\x08";
    write_little_endian(static_cast<uint64_t>(value), 8);
  }
}

void PickleWriter::write_float(double value) {
  bytes_ += 'G';
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8) bytes_ += static_cast<char>(bits >> shift);
}

void PickleWriter::write_raw_text(std::string_view utf8) {
  if (utf8.size() > std::numeric_limits<uint32_t>::max())
    throw Error("a text or bytes value of ", utf8.size(), " bytes is too long for a state file; use a tensor");
  bytes_ += 'X';
  write_little_endian(utf8.size(), 4);
  bytes_ += utf8;
}

void PickleWriter::write_text(std::string_view text) { write_raw_text(to_pickle_text(text)); }

// Protocol 2 has no bytes: Python writes Latin-1 text with a call to encode it, which weights_only allows.
void PickleWriter::write_bytes(std::string_view bytes) {
  std::string latin1;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x80) latin1 += static_cast<char>(0xc0 | byte >> 6);
    latin1 += static_cast<char>(byte >= 0x80 ? 0x80 | (byte & 0x3f) : byte);
  }
  write_global("_codecs", "encode");
  write_mark();
  write_raw_text(latin1);
  write_raw_text("latin1");
  write_tuple();
  call();
}

void PickleWriter::write_global(std::string_view module, std::string_view name) {
  bytes_ += 'c';
  bytes_.append(module).append("\n").append(name).append("\n");
}

std::string PickleWriter::finish() && {
  bytes_ += '.';
  return std::move(bytes_);
}

}  // namespace levin
