#pragma once
#include <levin/data/tokenizers/json_fields.h>
#include <levin/data/tokenizers/text_pool.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::data::tokenizers {

/// Splits text into the pieces that the model encodes one by one.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Appends what one piece, which is no added token, becomes.
  virtual void split(TextPool& pool, const Piece& piece, std::vector<Piece>& out) const = 0;
  /// Returns whether the result depends on where a piece stands in the text.
  virtual bool depends_on_place() const { return false; }
  /// Returns whether this is the step that writes bytes as byte-level characters.
  virtual bool is_byte_level() const { return false; }
};

/// The steps of a tokenizer's pre-tokenizer, one after another.
using PreTokenizers = std::vector<std::unique_ptr<const PreTokenizer>>;

/// Reads a pre-tokenizer of a tokenizer's file; a Sequence becomes its steps, and ByteLevel two: its split, and the
/// change of bytes to characters. Throws levin::UsageError for a type that levin does not know.
PreTokenizers read_pre_tokenizer(const Json& json, const std::string& place);

// Those in files of their own.
std::unique_ptr<const PreTokenizer> read_metaspace(const JsonFields& fields);
void read_byte_level(const JsonFields& fields, PreTokenizers& steps);
/// Returns one that splits at characters of a class, by its type; nothing for another type.
std::unique_ptr<const PreTokenizer> read_class_split(const std::string& type, const JsonFields& fields);

}  // namespace levin::data::tokenizers
