#pragma once
#include <levin/data/tokenizer.h>
#include <levin/data/tokenizers/json_fields.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin::data::tokenizers {

/// The spaces at the ends of a token's text, in characters.
struct TokenSpaces {
  uint32_t leading = 0, trailing = 0;
};

/// An encoding, or a part of one, while it is put together.
struct EncodedPart {
  Encoding encoding = {};
  std::vector<TokenSpaces> spaces = {};  ///< of each token, if a step asks for them
};

/// Adds tokens before, between and behind the texts, and changes offsets.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// Returns the number of tokens that are added.
  virtual int64_t added(bool is_pair) const = 0;
  /// Changes the parts, which are one text or two at first.
  virtual void process(std::vector<EncodedPart>& parts, const EncodeOptions& options) const = 0;
  /// Returns whether it needs the spaces of tokens.
  virtual bool needs_spaces() const { return false; }
  /// Returns whether it makes other parts of the parts.
  virtual bool is_template() const { return false; }
};

using PostProcessorPtr = std::unique_ptr<const PostProcessor>;

/// Reads a post-processor of a tokenizer's file. Throws levin::UsageError for a type that levin does not know.
PostProcessorPtr read_post_processor(const Json& json, const std::string& place);
PostProcessorPtr read_template(const JsonFields& fields);

/// Returns a part of added tokens.
EncodedPart part_of_added(const std::vector<int32_t>& ids, const std::vector<TokenSpaces>& spaces, int32_t type_id,
                          const EncodeOptions& options);
/// Appends a part to another.
void append_part(EncodedPart& to, const EncodedPart& part);
/// Returns the spaces at the ends of a token's text, which may be byte-level.
TokenSpaces spaces_of(std::string_view token);

}  // namespace levin::data::tokenizers
