#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/pattern.h>
#include <levin/data/tokenizers/pre_tokenizer.h>
#include <levin/data/tokenizers/unicode.h>

#include <utility>

namespace levin::data::tokenizers {
namespace {

/// Splits at each character for which `is_delimiter` holds.
template <class IsDelimiter>
class CharacterSplit final : public PreTokenizer {
 public:
  CharacterSplit(IsDelimiter is_delimiter, SplitBehavior behavior)
      : is_delimiter_(std::move(is_delimiter)), behavior_(behavior) {}

  void split(TextPool& pool, const Piece& piece, std::vector<Piece>& out) const override {
    const std::string_view text = pool.text(piece);
    thread_local std::vector<PatternRange> ranges;
    ranges.clear();
    size_t previous = 0;
    for (size_t position = 0; position < text.size();) {
      const size_t begin = position;
      if (!is_delimiter_(next_code_point(text, position))) continue;
      if (previous < begin) ranges.push_back({previous, begin, false});
      ranges.push_back({begin, position, true});
      previous = position;
    }
    if (previous < text.size()) ranges.push_back({previous, text.size(), false});
    split_piece(pool, piece, ranges, behavior_, out);
  }

 private:
  IsDelimiter is_delimiter_;
  SplitBehavior behavior_;
};

template <class IsDelimiter>
std::unique_ptr<const PreTokenizer> split_at(IsDelimiter is_delimiter, SplitBehavior behavior) {
  return std::make_unique<CharacterSplit<IsDelimiter>>(std::move(is_delimiter), behavior);
}

/// What a piece is made of for Whitespace: parts of words, spaces, and the rest.
enum class CharacterKind : uint8_t { Word, Space, Other };

CharacterKind kind_of_character(char32_t code) {
  return is_word(code) ? CharacterKind::Word : is_space(code) ? CharacterKind::Space : CharacterKind::Other;
}

/// The runs of parts of words, and those of the rest without spaces.
class WhitespaceSplit final : public PreTokenizer {
 public:
  void split(TextPool& pool, const Piece& piece, std::vector<Piece>& out) const override {
    const std::string_view text = pool.text(piece);
    CharacterKind last = CharacterKind::Space;
    size_t begin = 0;
    for (size_t position = 0; position < text.size();) {
      const size_t here = position;
      const CharacterKind now = kind_of_character(next_code_point(text, position));
      if (now == last) continue;
      if (last != CharacterKind::Space) out.push_back(pool.slice(piece, begin, here));
      begin = here;
      last = now;
    }
    if (last != CharacterKind::Space && begin < text.size()) out.push_back(pool.slice(piece, begin, text.size()));
  }
};

/// Words between spaces, with each punctuation mark by itself.
class BertSplit final : public PreTokenizer {
 public:
  void split(TextPool& pool, const Piece& piece, std::vector<Piece>& out) const override {
    const std::string_view text = pool.text(piece);
    size_t begin = 0;
    const auto end_word = [&](size_t end) {
      if (begin < end) out.push_back(pool.slice(piece, begin, end));
    };
    for (size_t position = 0; position < text.size();) {
      const size_t here = position;
      const char32_t code = next_code_point(text, position);
      if (is_space(code)) {
        end_word(here);
      } else if (is_punctuation(code)) {
        end_word(here);
        out.push_back(pool.slice(piece, here, position));
      } else {
        continue;
      }
      begin = position;
    }
    end_word(text.size());
  }
};

}  // namespace

std::unique_ptr<const PreTokenizer> read_class_split(const std::string& type, const JsonFields& fields) {
  if (type == "Whitespace") {
    fields.allow({"type"});
    return std::make_unique<WhitespaceSplit>();
  }
  if (type == "BertPreTokenizer") {
    fields.allow({"type"});
    return std::make_unique<BertSplit>();
  }
  if (type == "WhitespaceSplit") {
    fields.allow({"type"});
    return split_at(is_space, SplitBehavior::Removed);
  }
  if (type == "Punctuation") {
    fields.allow({"type", "behavior"});
    return split_at(is_punctuation,
                    fields.has("behavior") ? split_behavior_of(fields, "behavior") : SplitBehavior::Isolated);
  }
  if (type == "Digits") {
    fields.allow({"type", "individual_digits"});
    return split_at(is_numeric,
                    fields.boolean("individual_digits") ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
  }
  if (type == "CharDelimiterSplit") {
    fields.allow({"type", "delimiter"});
    return split_at([delimiter = fields.character("delimiter")](char32_t code) { return code == delimiter; },
                    SplitBehavior::Removed);
  }
  return nullptr;
}

}  // namespace levin::data::tokenizers
