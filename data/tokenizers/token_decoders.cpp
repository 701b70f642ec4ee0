#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/decoder.h>
#include <levin/data/tokenizers/metaspace.h>
#include <levin/data/tokenizers/pattern.h>

#include <algorithm>
#include <array>
#include <utility>

namespace levin::data::tokenizers {
namespace {

constexpr size_t kMostText = size_t{1} << 26;

/// Replaces each occurrence of a text, which is not empty.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t position = 0;
  for (size_t found = 0; (found = text.find(from, position)) != std::string_view::npos;
       position = found + from.size()) {
    out.append(text.substr(position, found - position)).append(to);
  }
  return out.append(text.substr(position));
}

/// Takes away spaces that tokens of English left. Source: transformers, clean_up_tokenization.
std::string clean_up(std::string text) {
  constexpr std::array<std::array<std::string_view, 2>, 11> kChanges = {{{" .", "."},
                                                                         {" ?", "?"},
                                                                         {" !", "!"},
                                                                         {" ,", ","},
                                                                         {" ' ", "'"},
                                                                         {" n't", "n't"},
                                                                         {" 'm", "'m"},
                                                                         {" do not", " don't"},
                                                                         {" 's", "'s"},
                                                                         {" 've", "'ve"},
                                                                         {" 're", "'re"}}};
  for (const auto& [from, to] : kChanges) {
    if (text.find(from) != std::string::npos) text = replace_all(text, from, to);
  }
  return text;
}

class WordPieceDecoder final : public Decoder {
 public:
  explicit WordPieceDecoder(const JsonFields& fields)
      : prefix_(fields.text("prefix")), cleans_(fields.boolean("cleanup")) {
    fields.allow({"type", "prefix", "cleanup"});
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0) {
        if (token.starts_with(prefix_)) {
          token.erase(0, prefix_.size());
        } else {
          token.insert(token.begin(), ' ');
        }
      }
      if (cleans_) token = clean_up(std::move(token));
    }
  }

 private:
  std::string prefix_;
  bool cleans_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(const MetaspaceOptions& options) : keeps_first_(options.scheme == PrependScheme::Never) {
    append_utf8(mark_, options.replacement);
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replace_all(tokens[i], mark_, i == 0 && !keeps_first_ ? "" : " ");
    }
  }

 private:
  bool keeps_first_;
  std::string mark_ = {};
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(const JsonFields& fields) : suffix_(fields.text("suffix")) {
    fields.allow({"type", "suffix"});
    if (suffix_.empty()) fields.fail("'suffix' is empty");
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

/// Removes a character from the ends of tokens, at most a given number of times from each end.
class StripDecoder final : public Decoder {
 public:
  explicit StripDecoder(const JsonFields& fields)
      : start_(fields.count("start", kMostId)), stop_(fields.count("stop", kMostId)) {
    fields.allow({"type", "content", "start", "stop"});
    append_utf8(character_, fields.character("content"));
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (int64_t i = 0; i < start_ && rest.starts_with(character_); ++i) rest.remove_prefix(character_.size());
      for (int64_t i = 0; i < stop_ && rest.ends_with(character_); ++i) rest.remove_suffix(character_.size());
      token = std::string(rest);
    }
  }

 private:
  std::string character_ = {};
  int64_t start_, stop_;
};

class ReplaceDecoder final : public Decoder {
 public:
  explicit ReplaceDecoder(const JsonFields& fields)
      : pattern_(fields.at("pattern"), fields.place_of("pattern")), content_(fields.text("content")) {
    fields.allow({"type", "pattern", "content"});
  }
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<PatternRange> ranges;
    for (std::string& token : tokens) {
      pattern_.find_all(token, ranges);
      if (std::ranges::none_of(ranges, &PatternRange::is_match)) continue;
      std::string out;
      for (const PatternRange& range : ranges) {
        out += range.is_match ? content_ : token.substr(range.begin, range.end - range.begin);
        if (out.size() > kMostText) throw UsageError("Tokenizer: a decoder makes more than 64 MB of a token");
      }
      token = std::move(out);
    }
  }

 private:
  Pattern pattern_;
  std::string content_;
};

/// What a network that was trained by CTC gives: a token that comes again is one, and there are tokens for none and for
/// the end of a word.
class CtcDecoder final : public Decoder {
 public:
  explicit CtcDecoder(const JsonFields& fields)
      : none_(fields.text("pad_token")),
        delimiter_(fields.text("word_delimiter_token")),
        cleans_(fields.boolean("cleanup")) {
    fields.allow({"type", "pad_token", "word_delimiter_token", "cleanup"});
    if (none_.empty() || delimiter_.empty()) fields.fail("'pad_token' or 'word_delimiter_token' is empty");
  }
  void decode(std::vector<std::string>& tokens) const override {
    tokens.erase(std::ranges::unique(tokens).begin(), tokens.end());
    for (std::string& token : tokens) {
      token = replace_all(token, none_, "");
      if (cleans_) token = replace_all(clean_up(std::move(token)), delimiter_, " ");
    }
    std::erase(tokens, "");
  }

 private:
  std::string none_, delimiter_;
  bool cleans_;
};

}  // namespace

DecoderPtr read_token_decoder(const std::string& type, const JsonFields& fields) {
  if (type == "WordPiece") return std::make_unique<WordPieceDecoder>(fields);
  if (type == "Metaspace") return std::make_unique<MetaspaceDecoder>(MetaspaceOptions(fields));
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(fields);
  if (type == "Strip") return std::make_unique<StripDecoder>(fields);
  if (type == "Replace") return std::make_unique<ReplaceDecoder>(fields);
  if (type == "CTC") return std::make_unique<CtcDecoder>(fields);
  return nullptr;
}

}  // namespace levin::data::tokenizers
