#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/sentencepiece_model.h>
#include <levin/data/tokenizers/word_cache.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

namespace levin::data::tokenizers {
namespace {

constexpr uint32_t kNoSymbol = std::numeric_limits<uint32_t>::max();

/// A part of the text that grows by merges.
struct Symbol {
  uint32_t begin = 0, bytes = 0;  // no bytes: it was merged into the one before it
  uint32_t before = kNoSymbol, behind = kNoSymbol;
  bool is_whole = false;  // never merged
};

/// A merge of two neighbours that may be due.
struct PossibleMerge {
  float score = 0;
  uint32_t left = 0, right = 0, bytes = 0;

  bool operator<(const PossibleMerge& other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

/// Returns whether a space begins a segment of its own: no entry has a space behind another character, so that what
/// stands before a space never merges with it.
bool spaces_separate(const SentencePieceFile& file) {
  return std::ranges::all_of(file.entries, [](const SentencePieceEntry& entry) {
    std::string_view rest = entry.text;
    while (rest.starts_with(kWhitespaceMark)) rest.remove_prefix(kWhitespaceMark.size());
    return rest.find(kWhitespaceMark) == std::string_view::npos;
  });
}

/// Merges the two neighbours whose merger has the highest score, until none is in the vocabulary. Source:
/// SentencePiece, src/bpe_model.cc; Sennrich et al., Neural Machine Translation of Rare Words with Subword Units, 2016.
class SentencePieceBpe final : public SentencePieceModel {
 public:
  SentencePieceBpe(const SentencePieceFile& file, const std::string& name)
      : SentencePieceModel(file, name), symbols_(user_defined_symbols(file)), separates_(spaces_separate(file)) {
    for (size_t id = 0; id < file.entries.size(); ++id) {
      scores_.push_back(file.entries[id].score);
      if (file.entries[id].is_segment()) mergers_.add(file.entries[id].text, static_cast<int32_t>(id));
    }
  }

 private:
  /// How entries that are not used came about: the bytes of the left one of the two merged.
  using Splits = std::unordered_map<std::string_view, uint32_t>;

  void segment(std::string_view text, std::vector<Token>& out) const override {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = separates_ ? end_of_word(text, begin) : text.size();
      const std::string_view word = text.substr(begin, end - begin);
      const size_t first = out.size();
      encode_cached(number_, word, out, [&] { merge_all(word, out); });
      for (size_t i = first; i < out.size(); ++i) {
        out[i].begin += static_cast<uint32_t>(begin);
        out[i].end += static_cast<uint32_t>(begin);
      }
      begin = end;
    }
  }

  /// Returns where the next space behind another character begins.
  static size_t end_of_word(std::string_view text, size_t begin) {
    while (text.substr(begin).starts_with(kWhitespaceMark)) begin += kWhitespaceMark.size();
    return std::min(text.find(kWhitespaceMark, begin), text.size());
  }

  void merge_all(std::string_view text, std::vector<Token>& out) const {
    std::vector<Symbol> symbols = split(text);
    std::vector<PossibleMerge> heap;
    Splits splits;
    const auto look = [&](uint32_t left, uint32_t right) {
      if (left == kNoSymbol || right == kNoSymbol || symbols[left].is_whole || symbols[right].is_whole) return;
      const uint32_t bytes = symbols[left].bytes + symbols[right].bytes;
      const std::string_view merged = text.substr(symbols[left].begin, bytes);
      const int32_t id = mergers_.id(merged);
      if (id < 0) return;
      heap.push_back({scores_[static_cast<size_t>(id)], left, right, bytes});
      std::push_heap(heap.begin(), heap.end());
      if (has_type(id, SentencePieceType::Unused)) splits[merged] = symbols[left].bytes;
    };
    for (uint32_t i = 1; i < symbols.size(); ++i) look(i - 1, i);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end());
      const PossibleMerge merge = heap.back();
      heap.pop_back();
      Symbol &left = symbols[merge.left], &right = symbols[merge.right];
      // One of the two has changed since.
      if (left.bytes == 0 || right.bytes == 0 || left.bytes + right.bytes != merge.bytes) continue;
      left.bytes = merge.bytes;
      left.behind = right.behind;
      if (right.behind != kNoSymbol) symbols[right.behind].before = merge.left;
      right.bytes = 0;
      look(left.before, merge.left);
      look(merge.left, left.behind);
    }
    for (const Symbol& symbol : symbols) {
      if (symbol.bytes > 0) add(text, symbol.begin, symbol.bytes, splits, out);
    }
  }

  std::vector<Symbol> split(std::string_view text) const {
    std::vector<Symbol> symbols;
    for (size_t begin = 0; begin < text.size();) {
      int32_t ignored = 0;
      const size_t whole = symbols_.longest(text.substr(begin), ignored);
      size_t end = begin + whole;
      if (whole == 0) next_code_point(text, end);
      const auto at = static_cast<uint32_t>(symbols.size());
      symbols.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin), at == 0 ? kNoSymbol : at - 1,
                         end == text.size() ? kNoSymbol : at + 1, whole > 0});
      begin = end;
    }
    return symbols;
  }

  /// Appends a segment; one that is not used is taken apart again.
  void add(std::string_view text, uint32_t begin, uint32_t bytes, const Splits& splits, std::vector<Token>& out) const {
    const std::string_view segment = text.substr(begin, bytes);
    const int32_t id = id_of(segment);
    const auto split = has_type(id, SentencePieceType::Unused) ? splits.find(segment) : splits.end();
    if (split == splits.end()) {
      out.push_back({id, begin, begin + bytes});
      return;
    }
    add(text, begin, split->second, splits, out);
    add(text, begin + split->second, bytes - split->second, splits, out);
  }

  std::vector<float> scores_ = {};
  Vocabulary mergers_ = {};  // what two neighbours may become
  ByteTrie symbols_;
  bool separates_;
  uint64_t number_ = WordCache::next_number();
};

}  // namespace

ModelPtr make_sentencepiece_bpe(const SentencePieceFile& file, const std::string& name) {
  return std::make_unique<SentencePieceBpe>(file, name);
}

}  // namespace levin::data::tokenizers
