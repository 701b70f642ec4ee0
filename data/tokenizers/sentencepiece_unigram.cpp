#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/sentencepiece_model.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace levin::data::tokenizers {
namespace {

/// What the score of an unknown character is below the smallest of the vocabulary.
constexpr float kUnknownBelowLeast = 10;

/// The best segmentation up to a byte.
struct PathEnd {
  float score = 0;
  uint32_t begin = 0;
  int32_t id = -1;  // of its last segment; -1: none reaches this byte
};

/// The most probable segmentation, with the sums of scores in float32, which decide between segmentations that are
/// nearly as good. Source: SentencePiece, src/unigram_model.cc (EncodeOptimized).
class SentencePieceUnigram final : public SentencePieceModel {
 public:
  SentencePieceUnigram(const SentencePieceFile& file, const std::string& name) : SentencePieceModel(file, name) {
    float least = std::numeric_limits<float>::max();
    ByteTrie::Entries entries;
    for (size_t id = 0; id < file.entries.size(); ++id) {
      const SentencePieceEntry& entry = file.entries[id];
      scores_.push_back(entry.score);
      if (entry.is_segment() && entry.type != SentencePieceType::Unused) {
        entries.emplace_back(entry.text, static_cast<int32_t>(id));
      }
      if (entry.type != SentencePieceType::Normal) continue;
      least = std::min(least, entry.score);
      greatest_ = std::max(greatest_, entry.score);
    }
    unknown_score_ = least - kUnknownBelowLeast;
    trie_ = ByteTrie(std::move(entries));
  }

 private:
  void segment(std::string_view text, std::vector<Token>& out) const override {
    thread_local std::vector<PathEnd> ends;
    find_ends(text, ends);
    const size_t first = out.size();
    for (auto end = static_cast<uint32_t>(text.size()); end > 0; end = ends[end].begin) {
      out.push_back({ends[end].id, ends[end].begin, end});
    }
    std::reverse(out.begin() + static_cast<int64_t>(first), out.end());
  }

  void find_ends(std::string_view text, std::vector<PathEnd>& ends) const {
    ends.assign(text.size() + 1, {});
    for (size_t begin = 0; begin < text.size();) {
      const float before = ends[begin].score;
      const auto offer = [&](size_t end, double score, int32_t id) {
        PathEnd& path = ends[end];
        if (path.id < 0 || score > path.score) path = {static_cast<float>(score), static_cast<uint32_t>(begin), id};
      };
      const size_t character = bytes_of_character(text[begin]);
      bool has_character = false;
      ByteTrie::Node node = ByteTrie::kRoot;
      for (size_t end = begin; end < text.size() && trie_.follow(node, text[end]);) {
        ++end;
        const int32_t id = trie_.value(node);
        if (id < 0) continue;
        offer(end, score_with(before, id, end - begin), id);
        has_character |= end - begin == character;
      }
      if (!has_character) offer(begin + character, unknown_score_ + before, unknown());
      begin += character;
    }
  }

  /// Returns the score of a path with one more segment. A symbol that the user defined has more than any other.
  double score_with(float before, int32_t id, size_t bytes) const {
    if (has_type(id, SentencePieceType::UserDefined)) return static_cast<float>(bytes) * greatest_ - 0.1 + before;
    return scores_[static_cast<size_t>(id)] + before;
  }

  std::vector<float> scores_ = {};
  float greatest_ = std::numeric_limits<float>::min();  // as in the source: above 0, and so above all scores
  float unknown_score_ = 0;
  ByteTrie trie_ = {};
};

}  // namespace

ModelPtr make_sentencepiece_unigram(const SentencePieceFile& file, const std::string& name) {
  return std::make_unique<SentencePieceUnigram>(file, name);
}

}  // namespace levin::data::tokenizers
