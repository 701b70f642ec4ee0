#include <levin/data/tokenizers/joined_characters.h>
#include <levin/data/files/utf8.h>

namespace levin::data::tokenizers {

void JoinedCharacters::add(std::string_view token) {
  char32_t last = kInvalidUtf8;
  for (size_t position = 0; position < token.size();) {
    const char32_t code = next_code_point(token, position);
    if (last < kFew && code < kFew) {
      few_[last * kFew + code] = true;
    } else if (last != kInvalidUtf8) {
      others_.insert(uint64_t{last} << 32 | code);
    }
    last = code;
  }
}

}  // namespace levin::data::tokenizers
