#pragma once
#include <levin/core/options/option.h>
#include <levin/data/datasets/readers/added_to_texts.h>
#include <levin/data/tokenizer.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace levin::data {

/// The tokenizer of a data module of texts. As a member without LEVIN_OPTION it is flattened into its own options.
struct TextTokensOptions {
  std::string tokenizer =
      LEVIN_OPTION(tokenizer, "", "Folder of a model, its tokenizer.json, or a SentencePiece model (.model)");
  std::optional<int64_t> max_length = LEVIN_OPTION(max_length, {},
                                                   "Most tokens of a sample, with those that are added; longer ones "
                                                   "are cut at the end, of two texts the longer one; "
                                                   "unset: as many as the files of the model say",
                                                   {.min = 1, .max = 1 << 24});
};

/// Makes tokens of texts as transformers does it with padding and truncation. All functions may be called from several
/// threads at a time.
class TextTokens {
 public:
  /// A token, or ~token if it belongs to the second of two texts.
  using Token = int32_t;

  /// Reads the tokenizer and what stands beside it. Throws levin::UsageError for a tokenizer that cannot be read, and
  /// for a max_length that leaves no room for a text.
  explicit TextTokens(const TextTokensOptions& options);

  // Errors begin with `place`.
  std::vector<Token> encode(std::string_view text, const std::string& place) const;
  std::vector<Token> encode_pair(std::string_view first, std::string_view second, const std::string& place) const;
  /// Encodes words one by one, as transformers does with is_split_into_words. Returns
  /// the tokens, and for each the number of the word that it is the first token of, or -1.
  std::pair<std::vector<Token>, std::vector<int64_t>> encode_words(const std::vector<std::string>& words,
                                                                   const std::string& place) const;

  /// Returns the token that fills rows up.
  int32_t pad_id() const { return pad_id_; }
  int64_t max_length() const { return max_length_; }

 private:
  std::vector<Token> marked(Encoding encoding, const std::string& place) const;

  Tokenizer tokenizer_;
  AddedToTexts added_ = {};
  int32_t pad_id_ = 0;
  int64_t max_length_ = 0;
};

/// Returns the names of classes in the config.json of a model's folder; none if it has none of its own.
std::vector<std::string> class_names_of_folder(const std::filesystem::path& folder);

}  // namespace levin::data
