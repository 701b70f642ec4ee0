#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>

namespace levin::onnx {

/// A message of protobuf as bytes, written field by field. Large texts are not copied. Source: protobuf's encoding,
/// wire types 0, 2 and 5.
class ProtobufMessage {
 public:
  void add_number(int field, int64_t value);
  void add_float(int field, float value);
  void add_text(int field, std::string_view text);
  /// `bytes` must outlive the message.
  void add_bytes(int field, std::string_view bytes);
  void add_message(int field, ProtobufMessage message);

  size_t size() const { return size_; }
  /// Calls `visit` with the bytes, in order.
  void for_each_piece(const std::function<void(std::string_view bytes)>& visit) const;

 private:
  struct Piece {
    std::string own = {};
    std::string_view other = {};  ///< follows `own`
  };
  void append(std::string_view bytes);
  void add_varint(uint64_t value);
  void add_key(int field, uint64_t wire_type) { add_varint(static_cast<uint64_t>(field) << 3 | wire_type); }

  std::list<Piece> pieces_ = {};
  size_t size_ = 0;
};

}  // namespace levin::onnx
