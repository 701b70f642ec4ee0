#pragma once
#include <levin/data/tokenizers/text_hash.h>

#include <bit>
#include <cstdint>
#include <vector>

namespace levin::data::tokenizers {

/// What a pair of tokens merges into.
struct Merge {
  uint32_t rank = 0xFFFFFFFF;  ///< the smallest is merged first; 0xFFFFFFFF: the pair is not merged
  int32_t id = -1;
};

/// The merges of a BPE model, by pair.
class MergeTable {
 public:
  explicit MergeTable(size_t merges) : slots_(std::bit_ceil(merges * 2 + 2)) {}

  /// Adds a merge; one of the same pair before it is replaced.
  void add(int32_t left, int32_t right, Merge merge) {
    const uint64_t key = key_of(left, right);
    size_t i = index_of(key);
    while (slots_[i].merge.id >= 0 && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {key, merge};
  }

  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = index_of(key); slots_[i].merge.id >= 0; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return slots_[i].merge;
    }
    return {};
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge = {};
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t index_of(uint64_t key) const { return mix_bits(key, 0) & (slots_.size() - 1); }

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
};

}  // namespace levin::data::tokenizers
