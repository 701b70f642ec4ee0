#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace levin {

namespace data::tokenizers {
struct Parts;
}

/// What a text, or a pair of texts, is encoded as: one entry a token in each vector.
struct Encoding {
  std::vector<int32_t> ids = {};
  /// Where each token stands in the text, [begin, end) in Unicode characters; (0, 0) for tokens that the post-processor
  /// added. Empty if offsets were not asked for.
  std::vector<std::pair<int64_t, int64_t>> offsets = {};
  /// 1 where the post-processor added the token.
  std::vector<uint8_t> special_tokens_mask = {};
  /// 0 for the first text and 1 for the second, unless the file's template says otherwise.
  std::vector<int32_t> type_ids = {};
};

struct EncodeOptions {
  /// Whether the post-processor adds its tokens, such as [CLS] and [SEP].
  bool add_special_tokens = true;
  /// false leaves `Encoding::offsets` empty, which is quicker.
  bool with_offsets = true;
  /// Whether the file's truncation is applied. transformers applies it only if a caller asks for it.
  bool truncate = true;
  /// Most tokens, with those that are added; the longer of two texts is cut first. Unset: as the file's truncation
  /// says.
  std::optional<int64_t> max_length = {};
};

/// A tokenizer that Hugging Face's package `tokenizers` wrote (`tokenizer.json`), with the ids and offsets of that
/// package, or a SentencePiece model with those of SentencePiece; a token of a byte has the offsets of its character.
/// A SentencePiece model adds no special tokens and finds none in text, as SentencePiece itself. Copies are cheap and
/// share their state; all functions may be called from several threads at a time.
///
/// A file's truncation is applied, as the package does it, unless EncodeOptions says otherwise. Its padding is not: who
/// makes a batch knows the length. Dropout of BPE's merges is refused. Text is UTF-8. Source: the format of tokenizers
/// 0.23, checked against it by tests/data/tokenizers.
class Tokenizer {
 public:
  /// Reads a tokenizer.json, or the one in a folder, or a SentencePiece model: a file whose name ends in `.model`.
  /// Throws levin::UsageError that names the file, the place in it and what is wrong, also where this levin is built
  /// without what tokenizers need.
  static Tokenizer from_file(const std::filesystem::path& path);
  /// Reads the text of a tokenizer.json; `name` is the prefix of messages.
  static Tokenizer from_json(std::string_view text, const std::string& name);
  /// Reads the bytes of a SentencePiece model; `name` is the prefix of messages.
  static Tokenizer from_sentencepiece(std::string_view bytes, const std::string& name);

  /// Encodes a text. Throws levin::UsageError for text that is not UTF-8, with the byte, and for a word that the model
  /// cannot encode because it lacks its unknown token.
  Encoding encode(std::string_view text, EncodeOptions options = {}) const;
  /// Encodes two texts into one encoding, as models of sentence pairs take them. Offsets are those in each text.
  Encoding encode_pair(std::string_view first, std::string_view second, EncodeOptions options = {}) const;
  /// Returns the text of ids. Ids that the vocabulary lacks are left out, as the package does it.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  std::optional<int32_t> token_to_id(std::string_view token) const;
  /// Returns a token as the vocabulary writes it. Throws levin::UsageError for an id that there is not.
  std::string id_to_token(int32_t id) const;
  /// Returns the number of tokens, added ones counted.
  int64_t vocab_size() const;
  /// Returns whether an id is that of an added token which is special.
  bool is_special(int32_t id) const;

 private:
  explicit Tokenizer(std::shared_ptr<const data::tokenizers::Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const data::tokenizers::Parts> parts_;
};

}  // namespace levin
