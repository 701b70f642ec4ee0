#include <levin/core/state/format/pickle_input.h>

#include <bit>

namespace levin {

uint8_t PickleInput::opcode() {
  offset_ = position_;
  return static_cast<uint8_t>(unsigned_int(1));
}

std::string_view PickleInput::take(uint64_t count) {
  if (count > bytes_.size() - position_) fail("it ends too early");
  const std::string_view taken = bytes_.substr(position_, count);
  position_ += count;
  return taken;
}

uint64_t PickleInput::unsigned_int(size_t width) {
  uint64_t value = 0;
  int shift = 0;
  for (const char byte : take(width)) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(byte)) << shift;
    shift += 8;
  }
  return value;
}

std::optional<int64_t> PickleInput::signed_int(uint64_t width) {
  if (width > 8) {
    take(width);
    return {};
  }
  uint64_t value = unsigned_int(width);
  if (width > 0 && width < 8 && (value >> (8 * width - 1))) value |= ~uint64_t{0} << (8 * width);
  return static_cast<int64_t>(value);
}

double PickleInput::float64() {
  uint64_t value = 0;
  for (const char byte : take(8)) value = value << 8 | static_cast<uint8_t>(byte);
  return std::bit_cast<double>(value);
}

std::string_view PickleInput::line() {
  const size_t end = bytes_.find('\n', position_);
  if (end == std::string_view::npos) fail("it ends too early");
  const std::string_view taken = take(end - position_);
  ++position_;
  return taken;
}

}  // namespace levin
