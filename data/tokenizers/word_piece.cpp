#include <levin/core/system/error.h>
#include <levin/data/tokenizers/byte_trie.h>
#include <levin/data/tokenizers/model.h>
#include <levin/data/tokenizers/word_cache.h>

#include <algorithm>

namespace levin::data::tokenizers {
namespace {

/// Takes the longest token that a word begins with, then the longest one that continues it, until its end. Source: Wu
/// et al., Google's Neural Machine Translation System, 2016; BERT's tokenizer.
class WordPiece final : public Model {
 public:
  explicit WordPiece(const JsonFields& fields)
      : unknown_text_(fields.text("unk_token")),
        most_characters_(fields.count("max_input_chars_per_word", int64_t{1} << 40)) {
    fields.allow({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    read_vocabulary(fields, vocabulary_);
    unknown_ = vocabulary_.id(unknown_text_);
    const std::string prefix = fields.text("continuing_subword_prefix");
    ByteTrie::Entries first, others;
    for (int32_t id = 0; id < vocabulary_.end_id(); ++id) {
      const std::string_view text = vocabulary_.text(id);
      if (!text.empty()) first.emplace_back(text, id);
      if (text.size() > prefix.size() && text.starts_with(prefix)) others.emplace_back(text.substr(prefix.size()), id);
    }
    first_ = ByteTrie(std::move(first));
    others_ = ByteTrie(std::move(others));
  }

  void encode(std::string_view piece, std::vector<Token>& out) const override {
    encode_cached(number_, piece, out, [&] {
      const size_t before = out.size();
      if (encode_known(piece, out)) return;
      out.resize(before);
      if (unknown_ < 0) {
        throw UsageError("Tokenizer: the vocabulary lacks its unknown token '", unknown_text_, "', and the text has '",
                         std::string(piece.substr(0, 100)), "', which is unknown");
      }
      out.push_back({unknown_, 0, static_cast<uint32_t>(piece.size())});
    });
  }

 private:
  bool encode_known(std::string_view piece, std::vector<Token>& out) const {
    const auto characters =
        std::ranges::count_if(piece, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    if (characters > most_characters_) return false;
    for (size_t begin = 0; begin < piece.size();) {
      int32_t id = -1;
      const size_t bytes = (begin == 0 ? first_ : others_).longest(piece.substr(begin), id);
      if (bytes == 0) return false;
      out.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + bytes)});
      begin += bytes;
    }
    return true;
  }

  std::string unknown_text_;
  int64_t most_characters_;
  int32_t unknown_ = -1;
  ByteTrie first_ = {}, others_ = {};  // tokens that begin a word; those that continue it, without the prefix
  uint64_t number_ = WordCache::next_number();
};

}  // namespace

ModelPtr read_word_piece(const JsonFields& fields) { return std::make_unique<WordPiece>(fields); }

}  // namespace levin::data::tokenizers
