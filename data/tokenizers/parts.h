#pragma once
#include <levin/data/tokenizers/added_tokens.h>
#include <levin/data/tokenizers/decoder.h>
#include <levin/data/tokenizers/model.h>
#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/post_processor.h>
#include <levin/data/tokenizers/pre_tokenizer.h>
#include <levin/data/tokenizers/truncation.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace levin::data::tokenizers {

/// What a tokenizer is made of; it does not change once it is read.
struct Parts {
  ModelPtr model = {};
  NormalizerPtr normalizer = {};  // or none
  PreTokenizers pre_tokenizers = {};
  bool takes_bytes = false;   // the model does what the last pre-tokenizer, ByteLevel, would do
  bool needs_places = false;  // a pre-tokenizer asks where a piece stands in the text
  bool counts_end_in_characters =
      false;                             // the end of the text in offsets, which the package tokenizers counts in bytes
  PostProcessorPtr post_processor = {};  // or none
  DecoderPtr decoder = {};               // or none
  AddedTokens added = {};
  std::optional<Truncation> truncation = {};
};

/// Reads the text of a tokenizer.json. Throws levin::UsageError with the prefix `name`.
std::shared_ptr<const Parts> read_parts(std::string_view text, const std::string& name);

/// Reads the bytes of a SentencePiece `.model` file. Throws levin::UsageError with the prefix `name`.
std::shared_ptr<const Parts> read_sentencepiece_parts(std::string_view bytes, const std::string& name);

/// Encodes one text, before what truncates and adds tokens. `type_id`: 0 or 1.
EncodedPart encode_text(const Parts& parts, std::string_view text, int32_t type_id, const EncodeOptions& options);

/// Returns the text of ids.
std::string decode_ids(const Parts& parts, std::span<const int32_t> ids, bool skip_special_tokens);

}  // namespace levin::data::tokenizers
