#include <levin/core/system/error.h>
#include <levin/data/tokenizer.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/data/tokenizers/small_tokenizers.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/fuzz.h"

namespace levin::testing {
namespace {

constexpr char kSeparator = '\x1e', kSentencePiece = '\x0a';  // what the pieces of a SentencePiece model begin with

void check_encoding(const Tokenizer& tokenizer, std::string_view text) {
  const Encoding encoding = tokenizer.encode(text);
  const size_t count = encoding.ids.size();
  expect(encoding.offsets.size() == count && encoding.type_ids.size() == count &&
             encoding.special_tokens_mask.size() == count,
         "an encoding has as many of all as of ids");
  for (const auto& [begin, end] : encoding.offsets) expect(begin >= 0 && end >= 0, "an offset is not negative");
  for (size_t i = 0; i < count; ++i) {
    // What a post-processor adds may be of no vocabulary.
    if (!encoding.special_tokens_mask[i]) tokenizer.id_to_token(encoding.ids[i]);
  }
  const Encoding quick = tokenizer.encode(text, {.with_offsets = false});
  expect(quick.ids == encoding.ids && quick.offsets.empty(), "ids are the same without offsets");
  tokenizer.decode(encoding.ids);
  tokenizer.decode(encoding.ids, false);
  // Bytes as ids, some of which no vocabulary has.
  std::vector<int32_t> any;
  for (const char byte : text) any.push_back(static_cast<signed char>(byte));
  tokenizer.decode(any);
  tokenizer.encode_pair(text, text, {.max_length = 7});
}

}  // namespace

void fuzz_tokenizer(const std::string& input) {
  const size_t end = std::min(input.find(kSeparator), input.size());
  const std::string_view text = std::string_view(input).substr(std::min(end + 1, input.size()));
  try {
    const std::string_view file = std::string_view(input).substr(0, end);
    const bool is_sentencepiece = file.starts_with(kSentencePiece);
    check_encoding(
        is_sentencepiece ? Tokenizer::from_sentencepiece(file, "input") : Tokenizer::from_json(file, "input"), text);
  } catch (const UsageError&) {
  }
}

const std::vector<std::string>& tokenizer_seeds() {
  static const std::vector<std::string> seeds = {
      tokenizer_json(small_bpe()) + kSeparator + "abcd\u00e9xy bc",
      tokenizer_json(small_bpe(), R"json(
        "normalizer": {"type": "Sequence", "normalizers": [
          {"type": "NFKC"}, {"type": "Strip", "strip_left": true, "strip_right": true},
          {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "_"}, {"type": "Prepend", "prepend": "a"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
          {"type": "Split", "pattern": {"Regex": "\\p{L}+|\\s+(?!\\S)"}, "behavior": "Isolated", "invert": false},
          {"type": "Digits", "individual_digits": true},
          {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true}]},
        "post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})json") +
          kSeparator + " a\ufb01  1\u0301 \U0001f600",
      tokenizer_json(small_unigram(), R"json(
        "added_tokens": [{"id": 6, "content": "<s>", "single_word": false, "lstrip": true, "rstrip": true,
                          "normalized": true, "special": true}],
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": "CAAAAAAAAAAAAAAAYQA="},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": true},
        "decoder": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": true})json") +
          kSeparator + "ab <s> abc",
      tokenizer_json(small_word_piece(), R"json(
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 7], "cls": ["[CLS]", 6]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true})json") +
          kSeparator + "Un\u00e4ffable, \u4e2d\u6587",
      small_sentencepiece(1, " b", 4) + kSeparator + "aab  abab\u00e9 ",
      small_sentencepiece(2) + kSeparator + " aba abab",
      small_sentencepiece(3) + kSeparator + "a ab",
      small_sentencepiece(4, "aa", 4) + kSeparator + "aaab",
  };
  return seeds;
}

}  // namespace levin::testing
