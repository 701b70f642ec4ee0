#include <levin/data/tokenizers/byte_level.h>
#include <levin/data/files/utf8.h>

#include <array>

namespace levin::data::tokenizers {
namespace {

struct ByteCharacters {
  ByteCharacters() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      const char32_t code = printable ? byte : next++;
      append_utf8(texts[byte], code);
      bytes[code] = static_cast<int>(byte);
    }
  }

  std::array<std::string, 256> texts = {};
  std::array<int, 0x144> bytes = {};
};

const ByteCharacters& byte_characters() {
  static const ByteCharacters all;
  return all;
}

}  // namespace

std::string_view byte_level_text(unsigned char byte) { return byte_characters().texts[byte]; }

int byte_of_character(char32_t code) {
  const auto& bytes = byte_characters().bytes;
  return code < bytes.size() ? bytes[code] : -1;
}

bool bytes_of_token(std::string_view token, std::string& bytes) {
  bytes.clear();
  for (size_t position = 0; position < token.size();) {
    const char32_t code = next_code_point(token, position);
    const int byte = code == kInvalidUtf8 ? -1 : byte_of_character(code);
    if (byte < 0) return false;
    bytes += static_cast<char>(byte);
  }
  return true;
}

}  // namespace levin::data::tokenizers
