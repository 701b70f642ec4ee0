#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/sentencepiece.h>

#include <optional>
#include <string>
#include <vector>

namespace levin::data::tokenizers {
namespace {

/// Returns the byte that a piece such as <0x0A> stands for.
std::optional<char> byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const size_t high = kDigits.find(piece[3]), low = kDigits.find(piece[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

/// Makes text of pieces. Source: SentencePiece, src/sentencepiece_processor.cc (Decode).
class SentencePieceDecoder final : public Decoder {
 public:
  explicit SentencePieceDecoder(const SentencePieceFile& file)
      : unknown_surface_(file.unknown_surface),
        has_bytes_(file.byte_fallback),
        strips_all_(file.removes_extra_whitespaces),
        strips_(file.adds_dummy_prefix || file.removes_extra_whitespaces) {
    for (const SentencePieceEntry& entry : file.entries) {
      if (entry.type == SentencePieceType::Unknown) unknown_ = entry.text;
    }
  }

  void decode(std::vector<std::string>& tokens) const override {
    std::string all, bytes;
    bool has_stripped = false;
    for (const std::string& token : tokens) {
      const std::optional<char> byte = has_bytes_ ? byte_of_piece(token) : std::nullopt;
      if (byte) {
        bytes += *byte;
        continue;
      }
      append_characters(bytes, all);
      const bool is_first = all.empty() && !has_stripped;
      has_stripped = false;
      if (token == unknown_) {
        all += unknown_surface_;
      } else {
        append_piece(token, is_first, has_stripped, all);
      }
    }
    append_characters(bytes, all);
    tokens.assign(1, std::move(all));
  }

 private:
  /// Appends a piece with spaces for its marks; the first one loses the mark that stands before the text.
  void append_piece(std::string_view piece, bool is_first, bool& has_stripped, std::string& all) const {
    if (is_first && strips_ && piece.starts_with(kWhitespaceMark)) {
      piece.remove_prefix(kWhitespaceMark.size());
      has_stripped = !strips_all_;
    }
    for (size_t found = 0; (found = piece.find(kWhitespaceMark)) != std::string_view::npos;) {
      all.append(piece.substr(0, found)).push_back(' ');
      piece.remove_prefix(found + kWhitespaceMark.size());
    }
    all.append(piece);
  }

  /// Appends bytes as characters, and U+FFFD for each byte that belongs to none.
  static void append_characters(std::string& bytes, std::string& all) {
    for (size_t position = 0; position < bytes.size();) {
      const size_t begin = position;
      if (next_code_point(bytes, position) == kInvalidUtf8) {
        all += "\xEF\xBF\xBD";
        position = begin + 1;
      } else {
        all.append(bytes, begin, position - begin);
      }
    }
    bytes.clear();
  }

  std::string unknown_ = {}, unknown_surface_;
  bool has_bytes_, strips_all_, strips_;
};

}  // namespace

DecoderPtr make_sentencepiece_decoder(const SentencePieceFile& file) {
  return std::make_unique<SentencePieceDecoder>(file);
}

}  // namespace levin::data::tokenizers
