#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/byte_trie.h>
#include <levin/data/tokenizers/model.h>
#include <levin/data/tokenizers/word_cache.h>

#include <algorithm>
#include <limits>

namespace levin::data::tokenizers {
namespace {

/// What the score of an unknown character is below the smallest of the vocabulary.
constexpr double kUnknownPenalty = 10;

/// The best way to the place behind a character.
struct BestPath {
  double score = 0;
  uint32_t begin = 0;
  int32_t id = -1;  // of its last token; -1: no way has been found yet
};

constexpr int32_t kUnknownId = std::numeric_limits<int32_t>::max();  // while the path is looked for

/// The most probable tokens, each of which has a probability of its own. Source: Kudo, Subword Regularization, 2018.
class Unigram final : public Model {
 public:
  explicit Unigram(const JsonFields& fields) : falls_back_(fields.boolean_or("byte_fallback", false)) {
    fields.allow({"type", "unk_id", "vocab", "byte_fallback"});
    const Json& tokens = fields.list("vocab");
    if (static_cast<int64_t>(tokens.size()) > kMostId) fields.fail("has too many tokens");
    vocabulary_.reserve(tokens.size());
    ByteTrie::Entries entries;
    double least = std::numeric_limits<double>::infinity();
    for (const Json& token : tokens) {
      if (!token.is_array() || token.size() != 2 || !token[0].is_string() || !token[1].is_number()) {
        throw UsageError(fields.place_of("vocab", scores_.size()), ": is not a token and its score");
      }
      const auto& text = token[0].get_ref<const std::string&>();
      const auto id = static_cast<int32_t>(scores_.size());
      scores_.push_back(token[1].get<double>());
      least = std::min(least, scores_.back());
      vocabulary_.add(text, id);
      if (!text.empty()) entries.emplace_back(text, id);
    }
    trie_ = ByteTrie(std::move(entries));
    unknown_score_ = least - kUnknownPenalty;
    if (fields.has("unk_id")) {
      if (tokens.empty()) fields.fail("has an 'unk_id', but no tokens");
      unknown_ = static_cast<int32_t>(fields.count("unk_id", static_cast<int64_t>(tokens.size()) - 1));
    }
    if (falls_back_) byte_tokens_ = byte_tokens_of(vocabulary_);
  }

  void encode(std::string_view piece, std::vector<Token>& out) const override {
    encode_cached(number_, piece, out, [&] { encode_best(piece, out); });
  }

  bool has_own_text(int32_t id) const override { return id == unknown_; }
  int64_t size() const override { return static_cast<int64_t>(scores_.size()); }

 private:
  void encode_best(std::string_view piece, std::vector<Token>& out) const {
    thread_local std::vector<BestPath> best;
    find_paths(piece, best);
    const size_t first = out.size();
    for (auto end = static_cast<uint32_t>(piece.size()); end > 0;) {
      const BestPath& path = best[end];
      const bool unknown = path.id == kUnknownId || path.id == unknown_;
      // Unknown tokens beside each other become one.
      if (unknown && out.size() > first && out.back().id == kUnknownId && out.back().begin == end) {
        out.back().begin = path.begin;
      } else {
        out.push_back({unknown ? kUnknownId : path.id, path.begin, end});
      }
      end = path.begin;
    }
    std::reverse(out.begin() + static_cast<int64_t>(first), out.end());
    name_unknown(piece, first, out);
  }

  /// Sets best[i] to the best way to byte i.
  void find_paths(std::string_view piece, std::vector<BestPath>& best) const {
    best.assign(piece.size() + 1, {});
    for (size_t begin = 0; begin < piece.size();) {
      const double before = best[begin].score;
      const size_t character = bytes_of_character(piece[begin]);
      bool has_character = false;
      const auto offer = [&](size_t end, double score, int32_t id) {
        BestPath& path = best[end];
        if (path.id < 0 || score > path.score) path = {score, static_cast<uint32_t>(begin), id};
      };
      ByteTrie::Node node = ByteTrie::kRoot;
      for (size_t end = begin; end < piece.size() && trie_.follow(node, piece[end]); ++end) {
        const int32_t id = trie_.value(node);
        if (id < 0) continue;
        offer(end + 1, scores_[static_cast<size_t>(id)] + before, id);
        has_character |= end + 1 - begin == character;
      }
      if (!has_character) offer(begin + character, unknown_score_ + before, kUnknownId);
      begin += character;
    }
  }

  /// Gives unknown tokens behind `first` their ids: that of the text itself, bytes, or the unknown token.
  void name_unknown(std::string_view piece, size_t first, std::vector<Token>& out) const {
    for (size_t i = first; i < out.size(); ++i) {
      if (out[i].id != kUnknownId) continue;
      if (unknown_ < 0) {
        throw UsageError("Tokenizer: the model has no unknown token (unk_id), and the text has a character that its ",
                         "vocabulary lacks");
      }
      const Token token = out[i];
      const std::string_view text = piece.substr(token.begin, token.end - token.begin);
      const int32_t id = vocabulary_.id(text);
      if (id < 0 && has_bytes_of(text)) {
        out[i].id = byte_tokens_[static_cast<unsigned char>(text[0])];
        out.insert(out.begin() + static_cast<int64_t>(i) + 1, text.size() - 1, token);
        for (size_t byte = 1; byte < text.size(); ++byte) {
          out[++i].id = byte_tokens_[static_cast<unsigned char>(text[byte])];
        }
        continue;
      }
      out[i].id = id >= 0 ? id : unknown_;
    }
  }

  bool has_bytes_of(std::string_view text) const {
    return falls_back_ &&
           std::ranges::all_of(text, [&](char c) { return byte_tokens_[static_cast<unsigned char>(c)] >= 0; });
  }

  bool falls_back_;
  int32_t unknown_ = -1;
  double unknown_score_ = 0;
  std::vector<double> scores_ = {};
  std::vector<int32_t> byte_tokens_ = {};
  ByteTrie trie_ = {};
  uint64_t number_ = WordCache::next_number();
};

}  // namespace

ModelPtr read_unigram(const JsonFields& fields) { return std::make_unique<Unigram>(fields); }

}  // namespace levin::data::tokenizers
