#include <levin/data/tokenizers/merge_word.h>

#include <algorithm>
#include <functional>

namespace levin::data::tokenizers {
namespace {

/// For a word of at most this many parts, a search through all ranks for the smallest is faster than a heap.
constexpr size_t kFewParts = 48;

void append_parts(const std::vector<WordPart>& parts, std::vector<Token>& out) {
  uint32_t begin = 0;
  for (const WordPart& part : parts) {
    if (part.bytes == 0) continue;  // merged into another
    out.push_back({part.id, begin, begin + part.bytes});
    begin += part.bytes;
  }
}

void merge_few(const MergeTable& merges, std::vector<WordPart>& parts) {
  thread_local std::vector<Merge> next;  // what each part and the one behind it merge into
  next.clear();
  for (size_t i = 0; i + 1 < parts.size(); ++i) next.push_back(merges.find(parts[i].id, parts[i + 1].id));
  while (!next.empty()) {
    const auto best = std::ranges::min_element(next, {}, &Merge::rank);
    if (best->id < 0) return;
    const auto at = static_cast<size_t>(best - next.begin());
    parts[at] = {best->id, parts[at].bytes + parts[at + 1].bytes};
    parts.erase(parts.begin() + static_cast<int64_t>(at) + 1);
    next.erase(best);
    if (at > 0) next[at - 1] = merges.find(parts[at - 1].id, parts[at].id);
    if (at < next.size()) next[at] = merges.find(parts[at].id, parts[at + 1].id);
  }
}

/// A merge that may be due: that of the part `at` with the one behind it.
struct Candidate {
  uint32_t rank = 0, at = 0;
  int32_t id = -1;

  bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
};

void merge_many(const MergeTable& merges, std::vector<WordPart>& parts) {
  constexpr uint32_t kNone = 0xFFFFFFFF;
  const auto count = static_cast<uint32_t>(parts.size());
  std::vector<uint32_t> before(count), behind(count);
  std::vector<Candidate> heap;
  const auto look = [&](uint32_t at) {
    const Merge merge = merges.find(parts[at].id, parts[behind[at]].id);
    if (merge.id < 0) return;
    heap.push_back({merge.rank, at, merge.id});
    std::ranges::push_heap(heap, std::greater());
  };
  for (uint32_t i = 0; i < count; ++i) {
    before[i] = i == 0 ? kNone : i - 1;
    behind[i] = i + 1 == count ? kNone : i + 1;
  }
  for (uint32_t i = 0; i + 1 < count; ++i) look(i);
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, std::greater());
    const Candidate top = heap.back();
    heap.pop_back();
    const uint32_t next = behind[top.at];
    if (parts[top.at].bytes == 0 || next == kNone) continue;
    if (merges.find(parts[top.at].id, parts[next].id).id != top.id) continue;  // one of the two has changed
    parts[top.at] = {top.id, parts[top.at].bytes + parts[next].bytes};
    parts[next].bytes = 0;
    behind[top.at] = behind[next];
    if (behind[next] != kNone) before[behind[next]] = top.at;
    if (before[top.at] != kNone) look(before[top.at]);
    if (behind[top.at] != kNone) look(top.at);
  }
}

}  // namespace

void merge_word(const MergeTable& merges, std::vector<WordPart>& parts, std::vector<Token>& out) {
  if (parts.size() <= kFewParts) {
    merge_few(merges, parts);
  } else {
    merge_many(merges, parts);
  }
  append_parts(parts, out);
}

}  // namespace levin::data::tokenizers
