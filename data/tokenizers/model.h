#pragma once
#include <levin/data/tokenizers/json_fields.h>
#include <levin/data/tokenizers/vocabulary.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data::tokenizers {

/// A token of a piece: bytes [begin, end) of it.
struct Token {
  int32_t id = 0;
  uint32_t begin = 0, end = 0;
};

/// Encodes pieces by a vocabulary.
class Model {
 public:
  virtual ~Model() = default;
  /// Appends the tokens of a piece that is not empty. Throws levin::UsageError if it holds what the vocabulary lacks
  /// and there is no unknown token.
  virtual void encode(std::string_view piece, std::vector<Token>& out) const = 0;
  /// Tells the model that pieces come as bytes, not as the characters that byte-level models have for them. Returns
  /// false if it needs the characters.
  virtual bool take_bytes() { return false; }
  /// Returns whether the package takes the text of the piece, not of the vocabulary, for a token of this id.
  virtual bool has_own_text(int32_t /*id*/) const { return false; }
  /// Returns whether an id is that of a token which text never becomes, and which decoding without special tokens
  /// leaves out.
  virtual bool is_special(int32_t /*id*/) const { return false; }

  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// Returns the number of tokens, as the package counts them.
  virtual int64_t size() const { return vocabulary_.size(); }

 protected:
  Vocabulary vocabulary_ = {};
};

using ModelPtr = std::unique_ptr<Model>;

/// Reads the model of a tokenizer's file. Throws levin::UsageError for a type that levin does not know.
ModelPtr read_model(const JsonFields& fields);

// Those in files of their own.
ModelPtr read_bpe(const JsonFields& fields);
ModelPtr read_unigram(const JsonFields& fields);
ModelPtr read_word_piece(const JsonFields& fields);
ModelPtr read_word_level(const JsonFields& fields);

/// Reads {"token": id, ...}.
void read_vocabulary(const JsonFields& fields, Vocabulary& vocabulary);
/// Returns the ids of "<0x00>" to "<0xFF>"; -1 for those that are not there.
std::vector<int32_t> byte_tokens_of(const Vocabulary& vocabulary);

}  // namespace levin::data::tokenizers
