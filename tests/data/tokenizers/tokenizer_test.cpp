#include <levin/data/tokenizer.h>
#include <levin/core/system/error.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/data/tokenizers/small_tokenizers.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

namespace levin {
namespace {

using Ids = std::vector<int32_t>;
using Offsets = std::vector<std::pair<int64_t, int64_t>>;

Tokenizer make(const std::string& model, const std::string& others = "") {
  return Tokenizer::from_json(tokenizer_json(model, others), "t.json");
}

TEST_CASE("BPE merges the pair of the smallest rank first, and unknown characters beside each other are one token") {
  const Tokenizer tokenizer = make(small_bpe());
  const Encoding encoding = tokenizer.encode("abcdxyab");
  CHECK(encoding.ids == Ids{7, 0, 5});
  CHECK(encoding.offsets == Offsets{{0, 4}, {4, 6}, {6, 8}});
  CHECK(encoding.special_tokens_mask == std::vector<uint8_t>{0, 0, 0});
  CHECK(encoding.type_ids == Ids{0, 0, 0});
  CHECK(tokenizer.encode("abc").ids == Ids{5, 3});
  CHECK(tokenizer.encode("bc").ids == Ids{8});
  CHECK(tokenizer.encode("").ids.empty());
}

TEST_CASE("Offsets count characters of the text that was given, also where it was normalized") {
  const Tokenizer tokenizer = make(
      small_bpe(), R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]})");
  // The fullwidth letters are one character each.
  const Encoding encoding = tokenizer.encode("\u00e9\uff21\uff22 ab");
  CHECK(encoding.ids == Ids{0, 5, 0, 5});
  CHECK(encoding.offsets == Offsets{{0, 1}, {1, 3}, {3, 4}, {4, 6}});
}

TEST_CASE("Unigram takes the most probable tokens, and WordPiece the longest") {
  const Tokenizer unigram = make(small_unigram());
  CHECK(unigram.encode("abc").ids == Ids{3, 5});
  CHECK(unigram.encode("axxb").ids == Ids{1, 0, 2});
  const Tokenizer word_piece = make(small_word_piece(), R"("pre_tokenizer": {"type": "BertPreTokenizer"})");
  const Encoding encoding = word_piece.encode("unaffa, unx");
  CHECK(encoding.ids == Ids{1, 2, 4, 5, 0});
  CHECK(encoding.offsets == Offsets{{0, 2}, {2, 5}, {5, 6}, {6, 7}, {8, 11}});
  CHECK(word_piece.encode("unaffaffa").ids == Ids{0});  // of more than 8 characters
}

TEST_CASE("Templates add tokens with their types, and truncation leaves room for them") {
  const std::string processor =
      R"("post_processor": {"type": "TemplateProcessing",
           "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
           "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                    {"Sequence": {"id": "B", "type_id": 1}}],
           "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [6], "tokens": ["[CLS]"]}}},
         "pre_tokenizer": {"type": "BertPreTokenizer"})";
  const Tokenizer tokenizer = make(small_word_piece(), processor);
  const Encoding single = tokenizer.encode("un ,");
  CHECK(single.ids == Ids{6, 1, 5});
  CHECK(single.special_tokens_mask == std::vector<uint8_t>{1, 0, 0});
  CHECK(single.offsets == Offsets{{0, 0}, {0, 2}, {3, 4}});
  const Encoding pair = tokenizer.encode_pair("un", ",,");
  CHECK(pair.ids == Ids{1, 6, 5, 5});
  CHECK(pair.type_ids == Ids{0, 0, 1, 1});
  CHECK(pair.offsets == Offsets{{0, 2}, {0, 0}, {0, 1}, {1, 2}});
  CHECK(tokenizer.encode_pair("un", ",", {.add_special_tokens = false}).ids == Ids{1, 5});
  const auto cut = [&](const std::string& direction, const std::string& strategy) {
    std::string json = tokenizer_json(small_word_piece(), processor);
    const std::string none = R"("truncation": null)";
    json.replace(json.find(none), none.size(),
                 R"("truncation": {"direction": ")" + direction + R"(", "max_length": 3, "strategy": ")" + strategy +
                     R"(", "stride": 0})");
    return Tokenizer::from_json(json, "t.json");
  };
  CHECK(cut("Right", "LongestFirst").encode("un , , un").ids == Ids{6, 1, 5});
  CHECK(cut("Right", "LongestFirst").encode("un ,", {.truncate = false}).ids == Ids{6, 1, 5});
  CHECK(cut("Right", "LongestFirst").encode("un , , un", {.truncate = false}).ids == Ids{6, 1, 5, 5, 1});
  CHECK(cut("Left", "LongestFirst").encode("un , , un").ids == Ids{6, 5, 1});
  CHECK(cut("Right", "LongestFirst").encode_pair("un un un un", ",,,").ids == Ids{1, 6, 5});
  CHECK(contains(error_text<UsageError>([&] { cut("Right", "OnlySecond").encode("un , , un"); }), "there is one"));
}

TEST_CASE("Added tokens are found before the model sees the text, the longest first, with the spaces that they take") {
  const auto token = [](const std::string& content, const std::string& options) {
    return R"({"id": 0, "content": ")" + content + R"(", "single_word": )" + options + "}";
  };
  const std::string plain = R"(false, "lstrip": false, "rstrip": false, "normalized": false, "special": true)";
  const std::string taking = R"(false, "lstrip": true, "rstrip": true, "normalized": false, "special": false)";
  const std::string whole = R"(true, "lstrip": false, "rstrip": false, "normalized": false, "special": false)";
  const Tokenizer tokenizer =
      make(small_bpe(), R"("added_tokens": [)" + token("<x>", plain) + "," + token("<x>y", plain) + "," +
                            token("<s>", taking) + "," + token("ab", whole) + "]");
  CHECK(tokenizer.vocab_size() == 12);
  CHECK(tokenizer.token_to_id("<x>") == 9);
  CHECK(tokenizer.token_to_id("<x>y") == 10);
  CHECK(tokenizer.token_to_id("ab") == 5);
  CHECK(tokenizer.token_to_id("none") == std::nullopt);
  CHECK(tokenizer.id_to_token(11) == "<s>");
  CHECK(tokenizer.is_special(9));
  CHECK(!tokenizer.is_special(11));
  CHECK(!tokenizer.is_special(5));
  const Encoding encoding = tokenizer.encode(
      "a<x>y<x>  <s> \n\u3000"
      "d");
  CHECK(encoding.ids == Ids{1, 10, 9, 11, 4});
  CHECK(encoding.offsets == Offsets{{0, 1}, {1, 5}, {5, 8}, {8, 16}, {16, 17}});
  CHECK(tokenizer.encode("ab-abc").ids == Ids{5, 0, 5, 3});
  CHECK(tokenizer.decode(Ids{1, 9, 11}) == "a <s>");
  CHECK(tokenizer.decode(Ids{1, 9, 11}, false) == "a <x> <s>");
  CHECK(tokenizer.decode(Ids{1, 12345, -1, 2}) == "a b");
}

TEST_CASE("What is wrong in a file is named with its place and what to do") {
  const auto error = [](const std::string& model, const std::string& others = "") {
    return error_text<UsageError>([&] { make(model, others); });
  };
  CHECK(error(R"({"type": "Markov"})") ==
        "t.json: model: levin does not know the model 'Markov'; it knows BPE, Unigram, WordPiece and WordLevel");
  CHECK(error(R"({"type": "WordLevel", "vocab": {"a": -1}, "unk_token": "a"})") ==
        "t.json: model.vocab['a']: is no id, a whole number from 0 to 4194303");
  CHECK(error(R"({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a", "window": 3})") ==
        "t.json: model: has a member 'window' that levin does not know; it could change the result, so the file is "
        "refused");
  CHECK(error(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]})") ==
        "t.json: model.merges[0]: is of tokens of which the vocabulary lacks one: it needs both, and what they become");
  CHECK(contains(error(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]})"), "is not two tokens with a space"));
  CHECK(contains(error(R"({"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []})"), "'dropout' is not 0"));
  CHECK(contains(error(R"({"type": "Unigram", "unk_id": 3, "vocab": [["a", 0.5]]})"), "model.unk_id: is not a whole"));
  CHECK(
      contains(error(R"({"type": "Unigram", "vocab": [["a", "b"]]})"), "model.vocab[0]: is not a token and its score"));
  CHECK(error(small_bpe(), R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "Rot13"}]})") ==
        "t.json: normalizer.normalizers[0]: levin does not know the normalizer 'Rot13'");
  CHECK(contains(error(small_bpe(), R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"},
                                      "behavior": "Isolated", "invert": false})"),
                 "t.json: pre_tokenizer.pattern.Regex: the regular expression '(a' is broken: "));
  CHECK(contains(error(small_bpe(), R"("pre_tokenizer": {"type": "Punctuation", "behavior": "Melted"})"),
                 "'Melted' is not one of"));
  CHECK(contains(error(small_bpe(), R"("decoder": {"type": "Speech"})"), "does not know the decoder 'Speech'"));
  CHECK(
      contains(error(small_bpe(), R"("post_processor": {"type": "TemplateProcessing", "pair": [], "special_tokens": {},
                                      "single": [{"SpecialToken": {"id": "X", "type_id": 0}}]})"),
               "post_processor.single[0].SpecialToken: 'special_tokens' has no 'X'"));
  CHECK(contains(error(small_bpe(), R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA!"})"),
                 "is no base64"));
  CHECK(contains(error(small_bpe(), R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "/////w=="})"),
                 "its trie has no such size"));
  CHECK(contains(error(small_bpe(), R"("added_tokens": [{"id": 5000000}])"), "added_tokens[0]: has no 'content'"));
  CHECK(contains(error_text<UsageError>([] { Tokenizer::from_json("{", "t.json"); }), "t.json: is no tokenizer: "));
  CHECK(contains(error_text<UsageError>([] { Tokenizer::from_json("[]", "t.json"); }),
                 "t.json: is array, not an object"));
  CHECK(contains(error_text<UsageError>([] { Tokenizer::from_json(std::string(100'000, '['), "t"); }),
                 "nested too deeply"));
}

TEST_CASE("A text that is not UTF-8, an unknown word without an unknown token, and an unknown id are errors") {
  const Tokenizer tokenizer = make(small_bpe());
  CHECK(error_text<UsageError>([&] { tokenizer.encode("ab\xff"); }) ==
        "Tokenizer: the text is not UTF-8 at byte 3; convert it before it is encoded");
  CHECK(error_text<UsageError>([&] { tokenizer.id_to_token(9); }) ==
        "Tokenizer: no token has the id 9; the vocabulary has 9");
  const Tokenizer words = make(R"({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "<unk>"})");
  CHECK(words.encode("a").ids == Ids{0});
  CHECK(contains(error_text<UsageError>([&] { words.encode("b"); }), "lacks its unknown token '<unk>'"));
}

TEST_CASE("A tokenizer is read from its file, or from the folder that has it") {
  const TemporaryFolder folder;
  CHECK(contains(error_text<UsageError>([&] { Tokenizer::from_file(folder.path()); }),
                 (folder / "tokenizer.json").string() + ": cannot be read: "));
  std::ofstream(folder / "tokenizer.json") << tokenizer_json(small_bpe());
  CHECK(Tokenizer::from_file(folder.path()).encode("ab").ids == Ids{5});
  CHECK(Tokenizer::from_file(folder / "tokenizer.json").vocab_size() == 9);
}

TEST_CASE("A SentencePiece model is read from its file, and what is wrong in it is named") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "small.model";
  std::ofstream(file, std::ios::binary) << small_sentencepiece(2);
  const Tokenizer tokenizer = Tokenizer::from_file(file);
  CHECK(tokenizer.vocab_size() == 8);
  // "ab" is not used: what became it is taken apart again.
  const Encoding encoding = tokenizer.encode(" a  cc ab");
  CHECK(encoding.ids == Ids{4, 2, 0, 4, 7});
  CHECK(encoding.offsets == Offsets{{1, 2}, {2, 4}, {4, 6}, {6, 8}, {8, 9}});
  CHECK(tokenizer.decode(std::vector<int32_t>{1, 4, 2, 3, 0}) == "a a \u2047 ");
  CHECK(tokenizer.is_special(1));
  CHECK_FALSE(tokenizer.is_special(0));
  const auto error = [](const std::string& bytes) {
    return error_text<UsageError>([&] { Tokenizer::from_sentencepiece(bytes, "t.model"); });
  };
  CHECK(error("") == "t.model: has no pieces; is it a SentencePiece model?");
  CHECK(contains(error("{\"version\": \"1.0\"}"), "t.model: is no message of Protocol Buffers, or it is truncated"));
  CHECK(contains(error(small_sentencepiece(2).substr(0, 40)), "t.model: is no message of Protocol Buffers"));
  CHECK(error(small_sentencepiece(5)) == "t.model: has the model_type 5; levin knows 1 (unigram) to 4 (char)");
  CHECK(error(small_sentencepiece(1, "?", 2)) == "t.model: has two unknown pieces");
  CHECK(error(small_sentencepiece(1, "", 1)) == "t.model: piece 7: is empty");
  CHECK(error(small_sentencepiece(1, "\xff", 1)) == "t.model: piece 7: is not UTF-8");
}

TEST_CASE("Many threads encode by one tokenizer, and by many in turn") {
  std::vector<Tokenizer> tokenizers;
  for (int i = 0; i < 12; ++i) tokenizers.push_back(make(i % 2 ? small_bpe() : small_unigram()));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t number = 0; number < wrong.size(); ++number) {
    threads.emplace_back([&, number] {
      for (size_t i = 0; i < 60; ++i) {
        const Ids expected = i % 2 ? Ids{7} : Ids{3, 5, 0};
        wrong[number] += tokenizers[i % tokenizers.size()].encode("abcd").ids != expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("A word of a million characters takes no time that grows with its square") {
  const Tokenizer tokenizer = make(small_bpe());
  std::string word;
  while (word.size() < 1'000'000) word += "abcd";
  const auto begin = std::chrono::steady_clock::now();
  CHECK(tokenizer.encode(word).ids == Ids(250'000, 7));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}

TEST_CASE("A normalizer that makes gigabytes of a text is stopped") {
  std::string steps;
  for (int i = 0; i < 30; ++i) {
    steps += std::string(i ? "," : "") + R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  }
  const Tokenizer tokenizer =
      make(small_bpe(), R"("normalizer": {"type": "Sequence", "normalizers": [)" + steps + "]}");
  CHECK(contains(error_text<UsageError>([&] { tokenizer.encode("a"); }), "a text of 1 bytes becomes more than"));
}

}  // namespace
}  // namespace levin
