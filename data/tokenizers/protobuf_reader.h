#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace levin::data::tokenizers {

/// Reads the fields of one message of Protocol Buffers, one after another. Source: the encoding of Protocol Buffers.
/// All functions throw levin::UsageError with the prefix `name` for bytes that are no message.
class ProtobufReader {
 public:
  ProtobufReader(std::string_view bytes, std::string name) : rest_(bytes), name_(std::move(name)) {}

  /// Moves to the next field; returns false at the end. The field before it is skipped if nothing has read it.
  bool next();
  /// Returns the number of the field.
  uint64_t field() const { return field_; }

  /// Returns the field as a whole number, an enumeration or a boolean.
  uint64_t integer();
  /// Returns the field as a 32-bit floating point number.
  float number();
  /// Returns the field as a text, bytes or a message.
  std::string_view bytes();

 private:
  enum class Wire : uint8_t { Varint = 0, Eight = 1, Bytes = 2, Four = 5 };

  [[noreturn]] void fail(const char* what) const;
  void expect(Wire wire);
  uint64_t varint();
  std::string_view take(uint64_t size);

  std::string_view rest_;
  std::string name_;
  uint64_t field_ = 0;
  Wire wire_ = Wire::Varint;
  bool is_read_ = true;
};

}  // namespace levin::data::tokenizers
