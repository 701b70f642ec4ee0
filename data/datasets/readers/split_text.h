#pragma once
#include <levin/data/tokenizer.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace levin::data {

/// Returns the ends of pieces of a text, of `piece_bytes` or somewhat more each, so that the tokens of the pieces are
/// those of the whole text. A piece ends behind a line break between two characters that are no white space, where the
/// text around has the same tokens whole and divided; tokenizers that add something to the beginning of each text have
/// no such place, and the text stays in one piece. The last end is that of the text.
std::vector<size_t> split_text(std::string_view text, size_t piece_bytes, const Tokenizer& tokenizer);

}  // namespace levin::data
