#include <levin/data/tokenizers/word_cache.h>
#include <levin/data/tokenizers/text_hash.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace levin::data::tokenizers {

WordCache& WordCache::of_thread(uint64_t number) {
  thread_local std::array<WordCache, 8> caches;
  thread_local WordCache* last = caches.data();
  thread_local uint64_t clock = 0;
  if (last->number_ == number) return *last;
  last = std::ranges::find(caches, number, &WordCache::number_);
  if (last == caches.end()) {
    last = std::ranges::min_element(caches, {}, &WordCache::used_);
    last->number_ = number;
    last->entries_.assign(kEntries, {});
  }
  last->used_ = ++clock;
  return *last;
}

uint64_t WordCache::next_number() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

size_t WordCache::index_of(std::string_view word) { return hash_text(word) & (kEntries - 1); }

bool WordCache::find(std::string_view word, std::vector<Token>& out) const {
  const Entry& entry = entries_[index_of(word)];
  if (entry.bytes != word.size() || std::memcmp(entry.word.data(), word.data(), word.size()) != 0) return false;
  const size_t before = out.size();
  out.resize(before + entry.tokens);
  uint32_t begin = 0;
  for (size_t i = 0; i < entry.tokens; ++i) {
    out[before + i] = {entry.ids[i], begin, entry.ends[i]};
    begin = entry.ends[i];
  }
  return true;
}

void WordCache::keep(std::string_view word, const std::vector<Token>& tokens, size_t first) {
  const size_t count = tokens.size() - first;
  if (word.empty() || count > kMostTokens) return;
  uint32_t begin = 0;
  for (size_t i = first; i < tokens.size(); ++i) {
    if (tokens[i].begin != begin || tokens[i].end > 255) return;  // not one after another
    begin = tokens[i].end;
  }
  Entry& entry = entries_[index_of(word)];
  std::memcpy(entry.word.data(), word.data(), word.size());
  entry.bytes = static_cast<uint8_t>(word.size());
  entry.tokens = static_cast<uint8_t>(count);
  for (size_t i = 0; i < count; ++i) {
    entry.ids[i] = tokens[first + i].id;
    entry.ends[i] = static_cast<uint8_t>(tokens[first + i].end);
  }
}

}  // namespace levin::data::tokenizers
