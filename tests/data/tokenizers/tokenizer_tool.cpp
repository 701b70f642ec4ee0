// For tokenizer_python_test.py and sentencepiece_python_test.py: encodes texts as Python's packages do, which compare.
//
//   tokenizer_tool TOKENIZER        for each request of standard input, a line of JSON on standard output
//   tokenizer_tool TOKENIZER --decode   for each line of ids, its text in hexadecimal digits
//   tokenizer_tool --characters     the ranges of characters that the libraries here and newer ones agree on
//
// A request is a line "SIZE SIZE2 ADD" and, behind it, the bytes of a text and of a second one; SIZE2 -1: there is
// none.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <levin/core/system/error.h>
#include <levin/data/tokenizer.h>

#include <pcre2.h>
#include <unicode/uchar.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

template <class Values>
void print_list(const char* name, const Values& values) {
  std::printf("\"%s\":[", name);
  for (size_t i = 0; i < values.size(); ++i) std::printf("%s%d", i ? "," : "", static_cast<int>(values[i]));
  std::printf("],");
}

void print_digits(const std::string& text) {
  for (const char c : text) std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
}

void print_text(const std::string& text) {
  std::printf("\"text\":\"");
  print_digits(text);
  std::printf("\"");
}

void decode_lines(const levin::Tokenizer& tokenizer) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream numbers(line);
    const std::vector<int32_t> ids(std::istream_iterator<int32_t>(numbers), {});
    print_digits(tokenizer.decode(ids));
    std::printf("\n");
  }
}

/// Whether a quicker encoding without offsets has the same ids.
bool has_same_ids(const levin::Tokenizer& tokenizer, const levin::Encoding& encoding, const std::string& text,
                  const std::string* second, bool add) {
  const levin::EncodeOptions options = {.add_special_tokens = add, .with_offsets = false};
  const levin::Encoding quick =
      second ? tokenizer.encode_pair(text, *second, options) : tokenizer.encode(text, options);
  return quick.ids == encoding.ids && quick.offsets.empty() && quick.type_ids == encoding.type_ids &&
         quick.special_tokens_mask == encoding.special_tokens_mask;
}

void answer(const levin::Tokenizer& tokenizer, const std::string& text, const std::string* second, bool add) {
  try {
    const levin::EncodeOptions options = {.add_special_tokens = add};
    const levin::Encoding encoding =
        second ? tokenizer.encode_pair(text, *second, options) : tokenizer.encode(text, options);
    std::printf("{");
    print_list("ids", encoding.ids);
    print_list("mask", encoding.special_tokens_mask);
    print_list("types", encoding.type_ids);
    std::printf("\"offsets\":[");
    for (size_t i = 0; i < encoding.offsets.size(); ++i) {
      std::printf("%s[%d,%d]", i ? "," : "", static_cast<int>(encoding.offsets[i].first),
                  static_cast<int>(encoding.offsets[i].second));
    }
    std::printf("],\"same\":%d,", has_same_ids(tokenizer, encoding, text, second, add));
    print_text(tokenizer.decode(encoding.ids, !add));
    std::printf("}\n");
  } catch (const levin::UsageError& error) {
    std::printf("{\"error\":true,");
    print_text(error.what());
    std::printf("}\n");
  }
}

/// Prints what is not newer than PCRE2's version of Unicode, and what is assigned or will never be.
void print_characters() {
  std::array<char, 64> version = {};
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version.data());
  const int newest = std::atoi(version.data());
  int begin = -1;
  for (int code = 0; code <= 0x110000; ++code) {
    UVersionInfo age = {};
    if (code < 0x110000) u_charAge(code, age);
    const bool is_assigned = age[0] > 0 && age[0] <= newest;
    const bool is_far = code >= 0x40000 && code < 0xE0000;
    const bool holds = code < 0x110000 && (code < 0xD800 || code > 0xDFFF) && (is_assigned || is_far);
    if (holds && begin < 0) begin = code;
    if (!holds && begin >= 0) {
      std::printf("%d %d\n", begin, code);
      begin = -1;
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const bool decodes = argc == 3 && argv[2] == std::string("--decode");
  if (argc != 2 && !decodes) return 2;
  if (argv[1] == std::string("--characters")) {
    print_characters();
    return 0;
  }
  const levin::Tokenizer tokenizer = levin::Tokenizer::from_file(argv[1]);
  if (decodes) {
    decode_lines(tokenizer);
    return 0;
  }
  std::printf("{\"size\":%d}\n", static_cast<int>(tokenizer.vocab_size()));
  std::fflush(stdout);
  long size = 0, second_size = 0, add = 0;
  while (std::cin >> size >> second_size >> add) {
    std::cin.get();
    std::string text(static_cast<size_t>(size), '\0'), second(static_cast<size_t>(std::max(second_size, 0L)), '\0');
    std::cin.read(text.data(), size);
    std::cin.read(second.data(), static_cast<std::streamsize>(second.size()));
    answer(tokenizer, text, second_size < 0 ? nullptr : &second, add != 0);
  }
  return 0;
} catch (const levin::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
