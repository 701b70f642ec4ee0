#pragma once
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/text_pool.h>

#include <string>

namespace levin::data::tokenizers {

/// Returns a piece without the characters for which `keep` is false.
template <class Keep>
Piece filter_piece(TextPool& pool, const Piece& piece, const Keep& keep) {
  const std::string_view text = pool.text(piece);
  size_t position = 0, removed = 0, removed_first = 0;
  bool any = false;
  while (position < text.size() && !any) any = !keep(next_code_point(text, position));
  if (!any) return piece;
  position = 0;
  while (position < text.size()) {  // those before the first that stays
    const size_t begin = position;
    if (keep(next_code_point(text, position))) {
      position = begin;
      break;
    }
    removed_first = position;
  }
  Rewriter out(pool, piece, removed_first);
  char32_t last = kInvalidUtf8;
  while (position < text.size()) {
    const char32_t code = next_code_point(text, position);
    if (!keep(code)) {
      ++removed;
      continue;
    }
    if (last != kInvalidUtf8) out.put(last, -static_cast<int64_t>(removed));
    last = code;
    removed = 0;
  }
  if (last != kInvalidUtf8) out.put(last, -static_cast<int64_t>(removed));
  return out.finish();
}

/// Returns a piece with each character as `map` has it.
template <class Map>
Piece map_piece(TextPool& pool, const Piece& piece, const Map& map) {
  const std::string_view text = pool.text(piece);
  bool any = false;
  for (size_t position = 0; position < text.size() && !any;) {
    const char32_t code = next_code_point(text, position);
    any = map(code) != code;
  }
  if (!any) return piece;
  Rewriter out(pool, piece);
  for (size_t position = 0; position < text.size();) {
    const auto byte = static_cast<unsigned char>(text[position]);
    if (byte < 0x80 && map(byte) < 0x80) {
      out.put_ascii(static_cast<char>(map(byte)));
      ++position;
    } else {
      out.put(map(next_code_point(text, position)), 0);
    }
  }
  return out.finish();
}

}  // namespace levin::data::tokenizers
