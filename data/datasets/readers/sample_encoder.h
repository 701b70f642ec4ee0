#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/data/datasets/readers/chat_template.h>
#include <levin/data/datasets/readers/text_sample.h>
#include <levin/data/tokenizer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace levin {
namespace data {

struct TokenizerSettings;

/// Which tokens of a sample the model learns to predict.
enum class LossOn : uint8_t {
  Completion,  ///< completions, what the assistant says, and texts that have neither
  All
};

}  // namespace data

template <>
inline constexpr auto kWords<data::LossOn> =
    words_of<data::LossOn>({{"completion", data::LossOn::Completion}, {"all", data::LossOn::All}});

namespace data {

struct SampleEncoderOptions {
  std::string tokenizer =
      LEVIN_OPTION(tokenizer, "", "Folder of a model, its tokenizer.json, or a SentencePiece model (.model)");
  TextFields fields = {};
  Choice<LossOn> loss_on =
      LEVIN_OPTION(loss_on, LossOn::Completion, "Tokens to predict: completions and what the assistant says, or all");
  Choice<ChatTemplate> chat_template =
      LEVIN_OPTION(chat_template, ChatTemplate::Auto, "Format of chats; auto: that of tokenizer_config.json");
  std::string system_message =
      LEVIN_OPTION(system_message, "", "System message of chats without one; empty: none, or that of the template");
  bool append_eos = LEVIN_OPTION(append_eos, true, "End texts and completions with the end-of-text token");
  std::string eos_token =
      LEVIN_OPTION(eos_token, "", "The end-of-text token; empty: eos_token of tokenizer_config.json");
};

/// A token of a sample, and whether the model learns to predict it, in one number: the id, or, if it does not, ~id.
using MarkedToken = int32_t;

inline int32_t id_of(MarkedToken token) { return token < 0 ? ~token : token; }

/// Makes tokens of the lines of a JSON lines file. All functions may be called from several threads at a time.
class SampleEncoder {
 public:
  /// Reads the tokenizer and what stands beside it. Throws levin::UsageError for a tokenizer that cannot be read, and
  /// for an end-of-text token that the tokenizer lacks or nobody names.
  explicit SampleEncoder(const SampleEncoderOptions& options);

  /// Returns the tokens of a line, at least one. A text is encoded with what the tokenizer adds; so are a prompt and
  /// its completion, as one text, of which the tokens that reach into the completion are learned. A chat is encoded
  /// without what the tokenizer adds, as its template has written it. Throws levin::UsageError that begins with
  /// `place`.
  std::vector<MarkedToken> encode_line(std::string_view line, const std::string& place) const;
  /// Returns the same for a sample that was read.
  std::vector<MarkedToken> encode_sample(TextSample sample, const std::string& place) const;
  /// Returns the same for a text.
  std::vector<MarkedToken> encode_text(std::string_view text, const std::string& place) const;
  /// Returns the tokens of a piece of a text that is divided where that changes no token, see split_text: what stands
  /// before a text and behind it is added to its first and its last piece.
  std::vector<MarkedToken> encode_piece(std::string_view piece, bool is_first, bool is_last,
                                        const std::string& place) const;

  /// Returns the token that fills rows up: the tokenizer's for padding, or that of the end of a text, or 0.
  int32_t pad_id() const { return pad_id_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  /// A text, and its parts that are learned, as bytes [begin, end).
  struct Marked {
    std::string text = {};
    std::vector<std::pair<size_t, size_t>> learned = {};
  };

  std::vector<MarkedToken> encode_marked(const Marked& marked, bool add_special_tokens, const std::string& place) const;
  std::vector<MarkedToken> encode_all(std::string_view text, bool add_special_tokens, const std::string& place) const;
  std::vector<MarkedToken> encode_chat(Chat chat, const std::string& place) const;
  std::vector<MarkedToken> ended(std::vector<MarkedToken> tokens) const;
  ChatFormat chat_format(const TokenizerSettings& settings) const;

  SampleEncoderOptions options_;
  Tokenizer tokenizer_;
  ChatFormat chat_format_ = {};
  std::string chat_problem_ = {};  // why there are no chats; empty: there are
  std::optional<int32_t> eos_id_ = {};
  int32_t pad_id_ = 0;
};

}  // namespace data
}  // namespace levin
