#pragma once
#include <levin/data/tokenizers/json_fields.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::data::tokenizers {

/// Makes text of tokens.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Changes the tokens, whose texts are the result when they are put together.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
  /// Returns whether this is the decoder of byte-level models alone.
  virtual bool is_byte_level() const { return false; }
};

using DecoderPtr = std::unique_ptr<const Decoder>;

/// Reads a decoder of a tokenizer's file. Throws levin::UsageError for a type that levin does not know.
DecoderPtr read_decoder(const Json& json, const std::string& place);
/// Returns one that works token by token, by its type; nothing for another type.
DecoderPtr read_token_decoder(const std::string& type, const JsonFields& fields);

/// Returns bytes as UTF-8: what is none becomes U+FFFD, one for each longest beginning of a character.
std::string text_of_bytes(std::string_view bytes);

}  // namespace levin::data::tokenizers
