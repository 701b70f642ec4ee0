#pragma once
#include <levin/data/tokenizers/model.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace levin::data::tokenizers {

/// The tokens of words that one thread has encoded by one model, so that a word which comes again is looked up. It
/// holds a few MB; a word takes the place of another whose hash ends in the same bits.
class WordCache {
 public:
  /// Longer words are not kept.
  static constexpr size_t kMostBytes = 32;
  static constexpr size_t kMostTokens = 14;

  /// Returns the cache of the calling thread for the model with this number (next_number). Each thread keeps those of
  /// the models that it has used last.
  static WordCache& of_thread(uint64_t number);
  /// Returns a number that no other model has.
  static uint64_t next_number();

  /// Appends the tokens of a word if they are known.
  bool find(std::string_view word, std::vector<Token>& out) const;
  /// Keeps the tokens behind `first` as those of the last word that `find` was asked for.
  void keep(std::string_view word, const std::vector<Token>& tokens, size_t first);

 private:
  struct Entry {
    std::array<char, kMostBytes> word = {};
    uint8_t bytes = 0, tokens = 0;
    std::array<uint8_t, kMostTokens> ends = {};
    std::array<int32_t, kMostTokens> ids = {};
  };
  static constexpr size_t kEntries = size_t{1} << 15;

  static size_t index_of(std::string_view word);

  uint64_t number_ = 0, used_ = 0;
  std::vector<Entry> entries_ = {};
};

/// Appends the tokens of a word: from the thread's cache, or by `encode`, which appends them.
template <class Encode>
void encode_cached(uint64_t number, std::string_view word, std::vector<Token>& out, const Encode& encode) {
  if (word.size() > WordCache::kMostBytes) {
    encode();
    return;
  }
  WordCache& cache = WordCache::of_thread(number);
  if (cache.find(word, out)) return;
  const size_t first = out.size();
  encode();
  cache.keep(word, out, first);
}

}  // namespace levin::data::tokenizers
