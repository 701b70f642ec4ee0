#include <levin/data/tokenizers/byte_trie.h>

#include <algorithm>

namespace levin::data::tokenizers {
namespace {

/// The texts [begin, end), which agree in their first `depth` bytes and continue below a node.
struct TrieRange {
  size_t begin = 0, end = 0, depth = 0;
  ByteTrie::Node node = ByteTrie::kRoot;
};

}  // namespace

ByteTrie::ByteTrie(Entries entries) {
  std::ranges::stable_sort(entries, {}, &Entries::value_type::first);
  std::vector<TrieRange> open = {{0, entries.size(), 0, kRoot}};
  std::vector<unsigned char> labels;
  std::vector<size_t> begins;
  while (!open.empty()) {
    const TrieRange range = open.back();
    open.pop_back();
    size_t i = range.begin;
    for (; i < range.end && entries[i].first.size() == range.depth; ++i) {
      units_[static_cast<size_t>(range.node)].value = entries[i].second;
    }
    labels.clear();
    begins.clear();
    for (; i < range.end; ++i) {
      const auto label = static_cast<unsigned char>(entries[i].first[range.depth]);
      if (!labels.empty() && labels.back() == label) continue;
      labels.push_back(label);
      begins.push_back(i);
    }
    if (labels.empty()) continue;
    const int32_t base = find_base(labels);
    units_[static_cast<size_t>(range.node)].base = base;
    for (size_t child = 0; child < labels.size(); ++child) {
      const Node node = base + labels[child];
      units_[static_cast<size_t>(node)].parent = range.node;
      open.push_back({begins[child], child + 1 < begins.size() ? begins[child + 1] : range.end, range.depth + 1, node});
    }
  }
}

int32_t ByteTrie::find_base(const std::vector<unsigned char>& labels) {
  size_t taken = 0;
  for (size_t first = std::max<size_t>(first_free_, labels[0] + size_t{1});; ++first) {
    if (first + 256 >= units_.size()) units_.resize(std::max(units_.size() * 3 / 2, first + 512));
    if (units_[first].parent != -1) {
      ++taken;
      continue;
    }
    const size_t base = first - labels[0];
    const bool fits =
        std::ranges::all_of(labels, [&](unsigned char label) { return units_[base + label].parent == -1; });
    if (!fits) continue;
    // Where nearly all is taken, the next search begins behind it.
    if (taken * 20 >= (first - first_free_ + 1) * 19 || first_free_ + 65536 < first) first_free_ = first;
    return static_cast<int32_t>(base);
  }
}

}  // namespace levin::data::tokenizers
