#include <levin/core/system/error.h>
#include <levin/data/tokenizers/byte_level.h>
#include <levin/data/tokenizers/byte_trie.h>
#include <levin/data/tokenizers/decoder.h>
#include <levin/data/tokenizers/parse_json.h>
#include <levin/data/tokenizers/regex.h>
#include <levin/data/tokenizers/regex_syntax.h>

#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"

namespace levin::data::tokenizers {
namespace {

std::vector<std::string> matches_of(const std::string& pattern, const std::string& text) {
  const Regex regex(pattern, "p");
  std::vector<std::string> all;
  for (size_t begin = 0, end = 0; regex.find(text, end, begin, end) && end > begin;) {
    all.push_back(text.substr(begin, end - begin));
  }
  return all;
}

TEST_CASE("Regular expressions of Oniguruma mean the same in PCRE2") {
  CHECK(matches_of(R"(\s)", "\u180e\u3000\u200b\u0085") == std::vector<std::string>{"\u3000", "\u0085"});
  CHECK(matches_of(R"(\w+)", "a\u0301_\u00b2 \u203f-\u0661") ==
        std::vector<std::string>{"a\u0301_\u00b2", "\u203f", "\u0661"});
  CHECK(matches_of(R"([\w]+|[^\w])", "a\u00b2b") == std::vector<std::string>{"a", "\u00b2", "b"});
  CHECK(matches_of(R"(\h+)", "fg09") == std::vector<std::string>{"f", "09"});
  CHECK(matches_of(R"([^\S\n]+)", "a \t\n ") == std::vector<std::string>{" \t", " "});
  CHECK(matches_of("[a-z&&[^aeiou]]+", "abcide") == std::vector<std::string>{"bc", "d"});
  CHECK(matches_of("[a[0-9]]+", "b1a") == std::vector<std::string>{"1a"});
  CHECK(matches_of(R"(\p{Han}+|\p{^L}+)", "\u4e2d1a") == std::vector<std::string>{"\u4e2d", "1"});
  CHECK(matches_of("^b$", "a\nb\nc") == std::vector<std::string>{"b"});
  CHECK(matches_of("(?i:'s)", "'S'\u017f") == std::vector<std::string>{"'S", "'\u017f"});
  CHECK(matches_of("[]a]+", "]a") == std::vector<std::string>{"]a"});
}

TEST_CASE("What means something else in PCRE2 is refused by name") {
  for (const auto* const pattern : {R"([\W])", R"(\R)", "[[:alpha:]]", R"(\p{Alpha})", "(?m:.)", "a{1,2}+", R"(\k<a>)",
                                    R"(\p{L)", R"(\x{110000000})", "[a", "[]", "\\"}) {
    INFO(pattern);
    CHECK(contains(error_text<UsageError>([&] { Regex(pattern, "place"); }), "place: the regular expression"));
  }
  CHECK(contains(error_text<UsageError>([] { Regex("(a+)+$", "p"); }), "no error"));
  CHECK(contains(error_text<UsageError>([] {
                   size_t begin = 0, end = 0;
                   Regex("(a|aa)+\\z", "p").find(std::string(4000, 'a') + "b", 0, begin, end);
                 }),
                 "a regular expression fails on a text of 4001 bytes"));
}

TEST_CASE("Bytes become text with a mark for each wrong beginning") {
  const std::string mark = "\ufffd";
  CHECK(text_of_bytes("a\xc3\xa9") == "a\u00e9");
  CHECK(text_of_bytes("\xe2\x82") == mark);
  CHECK(text_of_bytes("\xe2\x82z\xff\xfe") == mark + "z" + mark + mark);
  CHECK(text_of_bytes("\xf0\x9f\x92\xf0\x9f\x92\xa9") == mark + "\U0001f4a9");
  CHECK(text_of_bytes("\xed\xa0\x80") == mark + mark + mark);  // a surrogate
  CHECK(text_of_bytes("\xf4\x90\x80\x80\xc0\x80") == mark + mark + mark + mark + mark + mark);
}

TEST_CASE("Byte-level characters stand for all bytes") {
  std::string all, bytes;
  for (int byte = 0; byte < 256; ++byte) {
    all = byte_level_text(static_cast<unsigned char>(byte));
    CHECK((bytes_of_token(all, bytes) && bytes == std::string(1, static_cast<char>(byte))));
  }
  CHECK(byte_level_text(' ') == "\u0120");
  CHECK(!bytes_of_token("a b", bytes));
}

TEST_CASE("Numbers have serde_json's last bit") {
  CHECK(value_of_number("-1") == -1.0);
  CHECK(value_of_number("0.1") == 0.1);
  CHECK(value_of_number("-12.5e-1") == -1.25);
  CHECK(value_of_number("1e400") == std::numeric_limits<double>::infinity());
  CHECK(value_of_number("1e-400") == 0);
  CHECK(value_of_number("0e99999999999999999999") == 0);
  CHECK(value_of_number("123456789012345678901234567890") == 123456789012345678901234567890.0);
  // The digits are rounded to 53 bits, and so is what the division gives; the nearest number ends in 6.
  CHECK(value_of_number("-7.8695896935049258") == -0x1.f7a75b87a2b57p+2);
}

TEST_CASE("A trie finds what a map finds") {
  std::mt19937 draw(1);
  std::map<std::string, int32_t> all;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    do text += static_cast<char>(draw() % 5 ? 'a' + draw() % 4 : draw() % 256);
    while (draw() % 6);
    all[text] = i;
  }
  ByteTrie::Entries entries;
  for (const auto& [text, value] : all) entries.emplace_back(text, value);
  const ByteTrie trie(entries);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t size = draw() % 12; text.size() < size;)
      text += static_cast<char>(draw() % 5 ? 'a' + draw() % 4 : draw() % 256);
    size_t expected = 0;
    for (size_t bytes = 1; bytes <= text.size(); ++bytes) {
      if (all.contains(text.substr(0, bytes))) expected = bytes;
    }
    int32_t value = -1;
    REQUIRE(trie.longest(text, value) == expected);
    if (expected) REQUIRE(value == all.at(text.substr(0, expected)));
  }
}

}  // namespace
}  // namespace levin::data::tokenizers
