#pragma once
#include <levin/data/tokenizers/sentencepiece.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data::tokenizers {

/// A model of SentencePiece: an algorithm segments the text, and what the vocabulary lacks becomes bytes, or one
/// unknown token for all that stands together. Source: SentencePiece, src/sentencepiece_processor.cc.
class SentencePieceModel : public Model {
 public:
  SentencePieceModel(const SentencePieceFile& file, const std::string& name);

  void encode(std::string_view piece, std::vector<Token>& out) const final;
  int64_t size() const final { return static_cast<int64_t>(types_.size()); }
  bool is_special(int32_t id) const final { return has_type(id, SentencePieceType::Control); }

 protected:
  /// Appends the segments of a text, with the unknown token's id for those that the vocabulary lacks.
  virtual void segment(std::string_view text, std::vector<Token>& out) const = 0;

  /// Returns the id of a segment; that of the unknown token if there is none.
  int32_t id_of(std::string_view segment) const;
  int32_t unknown() const { return unknown_; }
  bool has_type(int32_t id, SentencePieceType type) const {
    return id >= 0 && static_cast<size_t>(id) < types_.size() && types_[static_cast<size_t>(id)] == type;
  }

 private:
  void name_unknown(std::string_view text, size_t first, std::vector<Token>& out) const;

  std::vector<SentencePieceType> types_ = {};
  std::vector<int32_t> byte_tokens_ = {};  // empty if unknown text does not become bytes
  int32_t unknown_ = -1;
};

// Those in files of their own.
ModelPtr make_sentencepiece_unigram(const SentencePieceFile& file, const std::string& name);
ModelPtr make_sentencepiece_bpe(const SentencePieceFile& file, const std::string& name);

}  // namespace levin::data::tokenizers
