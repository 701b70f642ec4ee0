#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/byte_level.h>
#include <levin/data/tokenizers/joined_characters.h>
#include <levin/data/tokenizers/merge_word.h>
#include <levin/data/tokenizers/model.h>
#include <levin/data/tokenizers/word_cache.h>

#include <array>
#include <optional>

namespace levin::data::tokenizers {
namespace {

/// Byte pair encoding. Source: Sennrich et al., Neural Machine Translation of Rare Words with Subword Units, 2016.
class Bpe final : public Model {
 public:
  explicit Bpe(const JsonFields& fields)
      : prefix_(fields.text_or("continuing_subword_prefix", "")),
        suffix_(fields.text_or("end_of_word_suffix", "")),
        fuses_unknown_(fields.boolean_or("fuse_unk", false)),
        falls_back_(fields.boolean_or("byte_fallback", false)),
        whole_words_first_(fields.boolean_or("ignore_merges", false)),
        merges_(fields.list("merges").size()) {
    fields.allow({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                  "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (fields.has("dropout") && !(fields.at("dropout").is_number() && fields.at("dropout").get<double>() == 0)) {
      fields.fail("'dropout' is not 0: its merges would be drawn at random; set it to null to encode");
    }
    read_vocabulary(fields, vocabulary_);
    if (fields.has("unk_token")) {
      unknown_text_ = fields.text("unk_token");
      unknown_ = vocabulary_.id(*unknown_text_);
    }
    if (falls_back_) byte_tokens_ = byte_tokens_of(vocabulary_);
    read_merges(fields);
    for (size_t byte = 0; byte < characters_.size(); ++byte) {
      characters_[byte] = byte < 0x80 ? vocabulary_.id(std::string(1, static_cast<char>(byte))) : -1;
    }
  }

  bool take_bytes() override {
    if (!prefix_.empty() || !suffix_.empty()) return false;
    std::array<int32_t, 256> ids = {};
    for (size_t byte = 0; byte < ids.size(); ++byte) {
      ids[byte] = vocabulary_.id(byte_level_text(static_cast<unsigned char>(byte)));
      if (ids[byte] < 0) return false;
    }
    characters_ = ids;
    takes_bytes_ = true;
    std::string bytes;
    for (int32_t id = 0; whole_words_first_ && id < vocabulary_.end_id(); ++id) {
      if (vocabulary_.has(id) && bytes_of_token(vocabulary_.text(id), bytes)) words_.add(bytes, id);
    }
    return true;
  }

  void encode(std::string_view piece, std::vector<Token>& out) const override {
    const bool may_split = !takes_bytes_ && !whole_words_first_ && prefix_.empty() && suffix_.empty();
    if (may_split && piece.size() > WordCache::kMostBytes) {
      encode_long(piece, out);
    } else {
      encode_word(piece, out);
    }
  }

 private:
  void encode_word(std::string_view piece, std::vector<Token>& out) const {
    encode_cached(number_, piece, out, [&] {
      if (whole_words_first_) {
        const int32_t id = (takes_bytes_ ? words_ : vocabulary_).id(piece);
        if (id >= 0) {
          out.push_back({id, 0, static_cast<uint32_t>(piece.size())});
          return;
        }
      }
      thread_local std::vector<WordPart> parts;
      parts.clear();
      if (takes_bytes_) {
        for (const char c : piece) parts.push_back({characters_[static_cast<unsigned char>(c)], 1});
      } else {
        split_characters(piece, parts);
      }
      merge_word(merges_, parts, out);
    });
  }

  /// Encodes a long text in words, between which no merge takes place.
  void encode_long(std::string_view text, std::vector<Token>& out) const {
    const size_t first = out.size();
    const auto encode_part = [&](size_t begin, size_t end) {
      const size_t before = out.size();
      const uint32_t shift = before > first ? out.back().end : 0;
      encode_word(text.substr(begin, end - begin), out);
      for (size_t i = before; i < out.size(); ++i) {
        out[i].begin += shift;
        out[i].end += shift;
      }
    };
    size_t begin = 0, last_begin = 0;
    char32_t last = kInvalidUtf8;
    for (size_t position = 0; position < text.size();) {
      const size_t here = position;
      const char32_t code = next_code_point(text, position);
      // Unknown characters may join others whatever they are.
      if (here > 0 && !joined_.are_joined(last, code) &&
          vocabulary_.id(text.substr(last_begin, here - last_begin)) >= 0 &&
          vocabulary_.id(text.substr(here, position - here)) >= 0) {
        encode_part(begin, here);
        begin = here;
      }
      last = code;
      last_begin = here;
    }
    encode_part(begin, text.size());
  }

  void read_merges(const JsonFields& fields) {
    uint32_t rank = 0;
    size_t line = 0;
    std::string merged;
    for (const Json& merge : fields.list("merges")) {
      std::string_view left, right;
      const auto fail = [&, index = line++](const char* what) {
        throw UsageError(fields.place_of("merges", index), ": ", what);
      };
      if (merge.is_string()) {
        const std::string_view text = merge.get_ref<const std::string&>();
        if (text.starts_with("#version")) continue;
        const size_t space = text.find(' ');
        if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
          fail("is not two tokens with a space between them");
        }
        left = text.substr(0, space);
        right = text.substr(space + 1);
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        left = merge[0].get_ref<const std::string&>();
        right = merge[1].get_ref<const std::string&>();
      } else {
        fail("is not two tokens");
      }
      if (right.size() < prefix_.size()) fail("has a second token without the prefix of such");
      merged.assign(left).append(right.substr(prefix_.size()));
      const int32_t left_id = vocabulary_.id(left), right_id = vocabulary_.id(right), id = vocabulary_.id(merged);
      if (left_id < 0 || right_id < 0 || id < 0) {
        fail("is of tokens of which the vocabulary lacks one: it needs both, and what they become");
      }
      merges_.add(left_id, right_id, {rank++, id});
      joined_.add(merged);
    }
  }

  /// Sets `parts` to the characters of a word. What the vocabulary lacks becomes bytes, the unknown token or nothing.
  void split_characters(std::string_view word, std::vector<WordPart>& parts) const {
    uint32_t unknown_bytes = 0;
    const auto end_unknown = [&] {
      if (unknown_bytes > 0) parts.push_back({unknown_, unknown_bytes});
      unknown_bytes = 0;
    };
    std::string decorated;
    for (size_t position = 0; position < word.size();) {
      const size_t begin = position;
      next_code_point(word, position);
      std::string_view text = word.substr(begin, position - begin);
      const auto bytes = static_cast<uint32_t>(text.size());
      int32_t id = -1;
      if ((begin > 0 && !prefix_.empty()) || (position == word.size() && !suffix_.empty())) {
        decorated.assign(begin > 0 ? prefix_ : "").append(text);
        if (position == word.size()) decorated += suffix_;
        text = decorated;
        id = vocabulary_.id(text);
      } else if (bytes == 1) {
        id = characters_[static_cast<unsigned char>(text[0])];
      } else {
        id = vocabulary_.id(text);
      }
      if (id >= 0) {
        end_unknown();
        parts.push_back({id, bytes});
      } else if (!append_bytes(text, parts) && unknown_text_) {
        if (unknown_ < 0) {
          throw UsageError("Tokenizer: the vocabulary lacks its unknown token '", *unknown_text_,
                           "', and the text has '", std::string(text), "', which is unknown");
        }
        if (!fuses_unknown_) end_unknown();
        unknown_bytes += bytes;
      }
    }
    end_unknown();
  }

  /// Appends the tokens of a text's bytes, if the vocabulary has all.
  bool append_bytes(std::string_view text, std::vector<WordPart>& parts) const {
    if (!falls_back_) return false;
    for (const char c : text) {
      if (byte_tokens_[static_cast<unsigned char>(c)] < 0) return false;
    }
    for (const char c : text) parts.push_back({byte_tokens_[static_cast<unsigned char>(c)], 1});
    return true;
  }

  std::string prefix_, suffix_;
  bool fuses_unknown_, falls_back_, whole_words_first_, takes_bytes_ = false;
  MergeTable merges_;
  JoinedCharacters joined_ = {};
  std::optional<std::string> unknown_text_ = {};
  int32_t unknown_ = -1;
  std::vector<int32_t> byte_tokens_ = {};
  std::array<int32_t, 256> characters_ = {};  // the tokens of bytes, or of ASCII characters
  Vocabulary words_ = {};                     // by bytes, for whole words
  uint64_t number_ = WordCache::next_number();
};

}  // namespace

ModelPtr read_bpe(const JsonFields& fields) { return std::make_unique<Bpe>(fields); }

}  // namespace levin::data::tokenizers
