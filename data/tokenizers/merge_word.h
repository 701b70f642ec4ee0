#pragma once
#include <levin/data/tokenizers/merge_table.h>
#include <levin/data/tokenizers/model.h>

#include <cstdint>
#include <vector>

namespace levin::data::tokenizers {

/// A part of a word while it is merged: a token and its bytes.
struct WordPart {
  int32_t id = 0;
  uint32_t bytes = 0;
};

/// Merges the parts of a word, the pair of the smallest rank first and of those the leftmost, and appends its tokens.
/// The time is that of a heap, n log n. Source: Sennrich et al., 2016.
void merge_word(const MergeTable& merges, std::vector<WordPart>& parts, std::vector<Token>& out);

}  // namespace levin::data::tokenizers
