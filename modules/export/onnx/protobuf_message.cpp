#include <levin/modules/export/onnx/protobuf_message.h>

#include <bit>
#include <utility>

namespace levin::onnx {

void ProtobufMessage::append(std::string_view bytes) {
  if (pieces_.empty() || !pieces_.back().other.empty()) pieces_.emplace_back();
  pieces_.back().own += bytes;
  size_ += bytes.size();
}

void ProtobufMessage::add_varint(uint64_t value) {
  constexpr uint64_t kMore = 0x80;
  std::string bytes;
  for (; value >= kMore; value >>= 7) bytes += static_cast<char>(value | kMore);
  bytes += static_cast<char>(value);
  append(bytes);
}

void ProtobufMessage::add_number(int field, int64_t value) {
  add_key(field, 0);
  add_varint(static_cast<uint64_t>(value));
}

void ProtobufMessage::add_float(int field, float value) {
  add_key(field, 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift);
  append(bytes);
}

void ProtobufMessage::add_text(int field, std::string_view text) {
  add_key(field, 2);
  add_varint(text.size());
  append(text);
}

void ProtobufMessage::add_bytes(int field, std::string_view bytes) {
  add_key(field, 2);
  add_varint(bytes.size());
  pieces_.back().other = bytes;
  size_ += bytes.size();
}

void ProtobufMessage::add_message(int field, ProtobufMessage message) {
  add_key(field, 2);
  add_varint(message.size_);
  size_ += message.size_;
  pieces_.splice(pieces_.end(), message.pieces_);
}

void ProtobufMessage::for_each_piece(const std::function<void(std::string_view bytes)>& visit) const {
  for (const Piece& piece : pieces_) {
    visit(piece.own);
    if (!piece.other.empty()) visit(piece.other);
  }
}

}  // namespace levin::onnx
