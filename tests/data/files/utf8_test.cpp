#include <levin/data/files/utf8.h>

#include "tests/catch.h"

using namespace levin::data;

TEST_CASE("every code point is written and read back") {
  int64_t wrong = 0;
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(text, code);
    size_t position = 0;
    wrong += next_code_point(text, position) != code || position != text.size();
  }
  CHECK(wrong == 0);
  std::string text;
  append_utf8(text, 0x20AC);
  CHECK(text == "\xe2\x82\xac");
}

TEST_CASE("bytes that are no UTF-8 are recognised, and the position stays") {
  for (const char* text :
       {"\x80", "\xbf", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3(", "\xf0\x9f\x98"}) {
    const std::string all = std::string("a") + text;
    size_t position = 1;
    CHECK(next_code_point(all, position) == kInvalidUtf8);
    CHECK(position == 1);
  }
}

TEST_CASE("a byte outside ASCII is found at any place of a text") {
  std::string text(10'000, 'a');
  CHECK(is_ascii(text));
  CHECK(is_ascii(""));
  for (const size_t at : {0, 4095, 4096, 9999}) {
    std::string other = text;
    other[at] = '\x80';
    CHECK_FALSE(is_ascii(other));
  }
}
