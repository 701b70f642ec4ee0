#include <levin/data/tokenizers/byte_level.h>
#include <levin/data/tokenizers/parts.h>

#include <string>
#include <vector>

namespace levin::data::tokenizers {
namespace {

/// Calls `use` with the text of each id that is not left out.
template <class Use>
void for_each_token(const Parts& parts, std::span<const int32_t> ids, bool skip_special_tokens, const Use& use) {
  for (const int32_t id : ids) {
    if (const AddedToken* const token = parts.added.find(id)) {
      if (!skip_special_tokens || !token->is_skipped) use(std::string_view(token->pattern));
      continue;
    }
    const std::string_view text = parts.model->vocabulary().text(id);
    if (!text.data()) continue;
    // What is left out still stands between the bytes of a character.
    use(skip_special_tokens && parts.model->is_special(id) ? std::string_view("") : text);
  }
}

}  // namespace

std::string decode_ids(const Parts& parts, std::span<const int32_t> ids, bool skip_special_tokens) {
  if (parts.decoder && parts.decoder->is_byte_level()) {
    std::string all, bytes;
    for_each_token(parts, ids, skip_special_tokens, [&](std::string_view token) {
      all += bytes_of_token(token, bytes) ? std::string_view(bytes) : token;
    });
    return text_of_bytes(all);
  }
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for_each_token(parts, ids, skip_special_tokens, [&](std::string_view token) { tokens.emplace_back(token); });
  if (parts.decoder) parts.decoder->decode(tokens);
  std::string all;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !parts.decoder) all += ' ';
    all += tokens[i];
  }
  return all;
}

}  // namespace levin::data::tokenizers
