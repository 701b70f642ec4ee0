#include <levin/data/tokenizers/added_tokens.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/unicode.h>

#include <algorithm>
#include <set>
#include <utility>

namespace levin::data::tokenizers {
namespace {

/// Returns the byte where the last character before `end` begins.
size_t begin_of_last(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return begin;
}

char32_t code_at(std::string_view text, size_t position) { return next_code_point(text, position); }

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  return (begin == 0 || !is_word(code_at(text, begin_of_last(text, begin)))) &&
         (end == text.size() || !is_word(code_at(text, end)));
}

size_t before_spaces(std::string_view text, size_t begin) {
  while (begin > 0) {
    const size_t last = begin_of_last(text, begin);
    if (!is_space(code_at(text, last))) break;
    begin = last;
  }
  return begin;
}

size_t behind_spaces(std::string_view text, size_t end) {
  while (end < text.size()) {
    size_t next = end;
    if (!is_space(next_code_point(text, next))) break;
    end = next;
  }
  return end;
}

AddedToken read_token(const JsonFields& fields) {
  fields.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  token.content = token.pattern = fields.text("content");
  token.single_word = fields.boolean("single_word");
  token.left_strip = fields.boolean("lstrip");
  token.right_strip = fields.boolean("rstrip");
  token.normalized = fields.boolean("normalized");
  token.special = fields.boolean("special");
  json_id_of(fields.at("id"), fields.place_of("id"));
  return token;
}

std::string normalized_text(const std::string& text, const Normalizer* normalizer) {
  if (!normalizer) return text;
  TextPool pool(text, true);
  return std::string(pool.text(normalizer->normalize(pool, {0, static_cast<uint32_t>(text.size()), 0})));
}

}  // namespace

AddedTokens::AddedTokens(const Json& json, const std::string& place, const Model& model, const Normalizer* normalizer) {
  if (!json.is_array()) throw UsageError(place, ": is ", json.type_name(), ", not a list");
  if (static_cast<int64_t>(json.size()) > kMostId - model.size()) throw UsageError(place, ": has too many tokens");
  auto next_id = static_cast<int32_t>(model.size());
  std::set<std::string> special;
  size_t index = 0;
  for (const Json& entry : json) {
    AddedToken token = read_token(JsonFields(entry, place + "[" + std::to_string(index++) + "]"));
    if (token.content.empty()) continue;
    if (token.normalized) token.pattern = normalized_text(token.content, normalizer);
    if (token.pattern.empty()) {
      throw UsageError(place, "[", index - 1, "]: the normalizer leaves nothing of '", token.content.substr(0, 100),
                       "', so it could be found nowhere; set 'normalized' to false");
    }
    int32_t number = id(token.content);
    if (number < 0) number = model.vocabulary().id(token.content);
    if (number < 0) number = next_id++;
    ids_[token.content] = number;
    if (token.special) special.insert(token.content);
    by_id_[number] = std::move(token);
  }
  ByteTrie::Entries given, normalized;
  std::map<int32_t, AddedToken*> in_order;  // of two that the normalizer makes the same, the larger id counts
  for (auto& [number, token] : by_id_) in_order[number] = &token;
  for (const auto& [number, entry] : in_order) {
    AddedToken& token = *entry;
    token.is_skipped = special.contains(token.pattern);
    (token.normalized ? normalized : given).emplace_back(token.pattern, number);
    (token.normalized ? first_bytes_normalized_ : first_bytes_given_)[static_cast<unsigned char>(token.pattern[0])] =
        true;
  }
  any_given_ = !given.empty();
  any_normalized_ = !normalized.empty();
  given_ = ByteTrie(std::move(given));
  normalized_ = ByteTrie(std::move(normalized));
}

int32_t AddedTokens::id(const std::string& content) const {
  const auto found = ids_.find(content);
  return found == ids_.end() ? -1 : found->second;
}

int64_t AddedTokens::count_beside(const Model& model) const {
  return std::ranges::count_if(ids_, [&](const auto& token) { return model.vocabulary().id(token.first) < 0; });
}

void AddedTokens::split(const TextPool& pool, const Piece& piece, const ByteTrie& trie, bool any,
                        std::vector<Piece>& out) const {
  const std::string_view text = pool.text(piece);
  const auto& first_bytes = &trie == &given_ ? first_bytes_given_ : first_bytes_normalized_;
  size_t behind = 0;
  const auto cut = [&](size_t begin, size_t end, int32_t id) {
    if (begin >= end) return;
    Piece part = pool.slice(piece, begin, end);
    part.id = id;
    out.push_back(part);
  };
  for (size_t position = 0; any && position < text.size();) {
    int32_t id = -1;
    const size_t bytes =
        first_bytes[static_cast<unsigned char>(text[position])] ? trie.longest(text.substr(position), id) : 0;
    if (bytes == 0) {
      ++position;
      continue;
    }
    size_t begin = position, end = position + bytes;
    position = end;
    const AddedToken& token = by_id_.at(id);
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.left_strip) begin = std::max(before_spaces(text, begin), behind);
    if (token.right_strip) end = behind_spaces(text, end);
    if (behind < begin) cut(behind, begin, -1);
    cut(begin, end, id);
    behind = end;
  }
  if (behind != text.size()) cut(behind, text.size(), -1);
}

void AddedTokens::extract(TextPool& pool, const Normalizer* normalizer, std::vector<Piece>& out) const {
  std::vector<Piece> given;
  const Piece whole = {0, static_cast<uint32_t>(pool.original().size()), 0};
  split(pool, whole, given_, any_given_, given);
  for (const Piece& piece : given) {
    if (piece.id >= 0) {
      out.push_back(piece);
      continue;
    }
    split(pool, normalizer ? normalizer->normalize(pool, piece) : piece, normalized_, any_normalized_, out);
  }
}

}  // namespace levin::data::tokenizers
