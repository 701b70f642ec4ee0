#pragma once
#include <levin/data/tokenizers/json_fields.h>
#include <levin/data/tokenizers/text_pool.h>

#include <memory>
#include <string>

namespace levin::data::tokenizers {

/// Changes text before it is split.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Returns what the piece becomes; the piece itself where nothing changes.
  virtual Piece normalize(TextPool& pool, const Piece& piece) const = 0;
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

/// Reads a normalizer of a tokenizer's file. Throws levin::UsageError for a type that levin does not know.
NormalizerPtr read_normalizer(const Json& json, const std::string& place);

// Those in files of their own.
NormalizerPtr read_unicode_normalizer(const std::string& type);
NormalizerPtr read_bert_normalizer(const JsonFields& fields);
NormalizerPtr read_precompiled(const JsonFields& fields);
NormalizerPtr read_replace(const JsonFields& fields);

// Steps that several share.
Piece lower_piece(TextPool& pool, const Piece& piece);
/// Normalizes to NFD, or to NFC if `composed`, by compatibility for NFKD and NFKC.
Piece normalize_unicode(TextPool& pool, const Piece& piece, bool compatibility, bool composed);
/// Replaces each byte by the character that byte-level models have for it.
Piece to_byte_level(TextPool& pool, const Piece& piece);
/// Writes `text` before a piece that is not empty.
Piece prepend_to(TextPool& pool, const Piece& piece, std::string_view text);

}  // namespace levin::data::tokenizers
