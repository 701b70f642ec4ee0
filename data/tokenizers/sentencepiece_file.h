#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data::tokenizers {

/// What an entry of a SentencePiece vocabulary is. Source: SentencePiece, sentencepiece_model.proto.
enum class SentencePieceType : uint8_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

/// How a SentencePiece model segments. Source: sentencepiece_model.proto.
enum class SentencePieceAlgorithm : uint8_t { Unigram = 1, Bpe = 2, Word = 3, Char = 4 };

struct SentencePieceEntry {
  std::string text = {};
  float score = 0;
  SentencePieceType type = SentencePieceType::Normal;

  /// Returns whether text can become this entry; the others are reserved.
  bool is_segment() const {
    return type == SentencePieceType::Normal || type == SentencePieceType::UserDefined ||
           type == SentencePieceType::Unused;
  }
};

/// A SentencePiece `.model` file: what of it decides how text is encoded and decoded.
struct SentencePieceFile {
  std::vector<SentencePieceEntry> entries = {};  ///< by id
  SentencePieceAlgorithm algorithm = SentencePieceAlgorithm::Unigram;
  bool byte_fallback = false;
  bool whitespace_is_suffix = false;
  std::string unknown_surface = " \xE2\x81\x87 ";  ///< what the unknown token is decoded to
  std::string charsmap = {};                       ///< empty: the text is not normalized
  bool adds_dummy_prefix = true;
  bool removes_extra_whitespaces = true;
  bool escapes_whitespaces = true;
};

/// Reads the bytes of a `.model` file. Throws levin::UsageError with the prefix `name` for a file that is broken or
/// that asks for what levin does not do.
SentencePieceFile read_sentencepiece(std::string_view bytes, const std::string& name);

}  // namespace levin::data::tokenizers
