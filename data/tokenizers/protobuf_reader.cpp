#include <levin/data/tokenizers/protobuf_reader.h>
#include <levin/core/system/error.h>

#include <bit>

namespace levin::data::tokenizers {

void ProtobufReader::fail(const char* what) const {
  throw UsageError(name_, ": is no message of Protocol Buffers, or it is truncated: ", what);
}

bool ProtobufReader::next() {
  if (!is_read_) {
    switch (wire_) {
      case Wire::Varint:
        varint();
        break;
      case Wire::Eight:
        take(8);
        break;
      case Wire::Bytes:
        take(varint());
        break;
      case Wire::Four:
        take(4);
        break;
    }
  }
  if (rest_.empty()) return false;
  const uint64_t key = varint();
  const uint64_t wire = key & 7;
  if (wire != 0 && wire != 1 && wire != 2 && wire != 5) fail("a field has a type that is not known");
  field_ = key >> 3;
  wire_ = static_cast<Wire>(wire);
  is_read_ = false;
  return true;
}

void ProtobufReader::expect(Wire wire) {
  if (wire_ != wire || is_read_) fail("a field has another type than expected");
  is_read_ = true;
}

uint64_t ProtobufReader::integer() {
  expect(Wire::Varint);
  return varint();
}

float ProtobufReader::number() {
  expect(Wire::Four);
  const std::string_view bytes = take(4);
  uint32_t bits = 0;
  for (size_t i = 4; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
  return std::bit_cast<float>(bits);
}

std::string_view ProtobufReader::bytes() {
  expect(Wire::Bytes);
  return take(varint());
}

uint64_t ProtobufReader::varint() {
  uint64_t value = 0;
  for (size_t i = 0; i < 10 && i < rest_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte >= 0x80) continue;
    rest_.remove_prefix(i + 1);
    return value;
  }
  fail("a number does not end");
}

std::string_view ProtobufReader::take(uint64_t size) {
  if (size > rest_.size()) fail("a field is longer than what is left");
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

}  // namespace levin::data::tokenizers
