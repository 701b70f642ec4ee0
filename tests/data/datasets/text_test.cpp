#include <levin/data/datasets/text.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::Stage;
using namespace levin::data;

namespace {

std::filesystem::path write_text(const TemporaryFolder& folder, const std::string& text) {
  std::ofstream(folder / "t.txt", std::ios::binary) << text;
  return folder / "t.txt";
}

/// Returns the batch of all samples as texts, "input|target".
std::vector<std::string> windows(const TextDataset& data) {
  Batch batch;
  data.get_batch(Indices(0, data.size()), batch);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < data.size(); ++i) {
    texts.push_back(data.decode(batch.input()[i]) + "|" + data.decode(batch.target()[i]));
  }
  return texts;
}

std::string error_of(const std::filesystem::path& file, const TextDatasetOptions& options) {
  return error_text<levin::UsageError>([&] { TextDataset(file, options); });
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("samples are windows of the text, and their targets the same one character later") {
  const TemporaryFolder folder;
  const auto file = write_text(folder, "abcdefghij");
  CHECK(windows(TextDataset(file, {.block_size = 3})) == Texts{"abc|bcd", "def|efg", "ghi|hij"});
  CHECK(windows(TextDataset(file, {.block_size = 3, .stride = 2})) ==
        Texts{"abc|bcd", "cde|def", "efg|fgh", "ghi|hij"});
  CHECK(windows(TextDataset(file, {.block_size = 3, .stride = 4})) == Texts{"abc|bcd", "efg|fgh"});
  CHECK(windows(TextDataset(file, {.block_size = 9})) == Texts{"abcdefghi|bcdefghij"});
  CHECK(windows(TextDataset(file, {.block_size = 1, .stride = 4})) == Texts{"a|b", "e|f", "i|j"});
  CHECK(error_of(file, {.block_size = 10}) ==
        file.string() + ": 10 characters, but a sample of block_size 10 and its target need 10 + 1");
  const TextDataset data(file, {.block_size = 4, .level = "bytes"});
  CHECK(windows(data) == Texts{"abcd|bcde", "efgh|fghi"});
  Rng rng(0, 0, 0);
  CHECK(at::equal(data.get(1, rng).input(), at::tensor({'e', 'f', 'g', 'h'}, at::kLong)));
  CHECK(at::equal(data.get(1, rng).target(), at::tensor({'f', 'g', 'h', 'i'}, at::kLong)));
  Batch batch;
  CHECK_THROWS_AS(data.get_batch(Indices(2, 1), batch), levin::Error);
  CHECK_THROWS_AS(data.get_batch(Indices(-1, 1), batch), levin::Error);
}

TEST_CASE("samples are read in any order, into memory that is used again") {
  const TemporaryFolder folder;
  const TextDataset data(write_text(folder, "the quick brown fox"), {.block_size = 3, .level = "bytes"});
  Batch batch;
  data.get_batch(Indices(std::vector<int64_t>{2, 0}), batch);
  CHECK(batch.input().sizes() == at::IntArrayRef({2, 3}));
  CHECK(batch.input().scalar_type() == at::kLong);
  CHECK(data.decode(batch.input()) == "ickthe");
  const void* memory = batch.target().const_data_ptr();
  data.get_batch(Indices(std::vector<int64_t>{1, 1}), batch);
  CHECK(batch.target().const_data_ptr() == memory);
  CHECK(data.decode(batch.target()) == "quiqui");
}

TEST_CASE("characters are numbered in the order of their code points; bytes by their value") {
  const TemporaryFolder folder;
  const auto file = write_text(folder,
                               "b\xc3\xa9"
                               "a\xf0\x9f\x98\x80 b\xe2\x82\xac");
  const TextDataset data(file, {.block_size = 2});
  CHECK(data.vocabulary().tokens() == Texts{" ", "a", "b", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"});
  CHECK(data.class_names() == data.vocabulary().tokens());
  CHECK(data.length() == 7);
  CHECK(at::equal(data.encode("a\xe2\x82\xac b"), at::tensor({1, 4, 0, 2}, at::kLong)));
  CHECK(data.decode(at::tensor({5, 1, 3}, at::kInt)) ==
        "\xf0\x9f\x98\x80"
        "a\xc3\xa9");
  CHECK(windows(data) == Texts{"b\xc3\xa9|\xc3\xa9"
                               "a",
                               "a\xf0\x9f\x98\x80|\xf0\x9f\x98\x80 ", " b|b\xe2\x82\xac"});
  CHECK(error_text([&] { data.encode("ax"); }) ==
        "the text to encode: byte 1: the character U+0078 'x' is not in the vocabulary");
  CHECK(error_text([&] { data.encode("a\xff"); }) ==
        "the text to encode: byte 1: not valid UTF-8; convert the text, or read it as bytes");
  CHECK(error_text([&] { data.decode(at::tensor({6})); }) ==
        "TextVocabulary::decode: 6 is outside the vocabulary of 6");

  const TextDataset bytes(file, {.block_size = 2, .level = "bytes"});
  CHECK(bytes.length() == 13);
  CHECK(bytes.vocabulary().size() == 256);
  CHECK(bytes.class_names().empty());
  CHECK(at::equal(bytes.encode("\xc3\xa9"), at::tensor({0xc3, 0xa9}, at::kLong)));
  CHECK(bytes.decode(bytes.encode("\xff\x01")) == "\xff\x01");
}

TEST_CASE("windows of long texts outside ASCII start at the right character") {
  const TemporaryFolder folder;
  // Characters of 1 to 4 bytes; the marks stand every 256 characters.
  std::vector<char32_t> characters;
  std::string text;
  Rng rng(1, 0, 0);
  for (int i = 0; i < 2000; ++i) {
    constexpr std::array<char32_t, 4> kLimits = {0x80, 0x800, 0xD800, 0x110000};
    const size_t length = static_cast<size_t>(rng.randint(0, 4));
    characters.push_back(static_cast<char32_t>(
        rng.randint(length ? kLimits[length - 1] + (length == 3 ? 0x2800 : 0) : 0, kLimits[length])));
    append_utf8(text, characters.back());
  }
  const TextDataset data(write_text(folder, text), {.block_size = 5, .stride = 3});
  CHECK(data.length() == 2000);
  REQUIRE(data.size() == (2000 - 6) / 3 + 1);
  int64_t wrong = 0;
  for (int64_t i = 0; i < data.size(); ++i) {
    const Batch sample = data.get(i, rng);
    for (int64_t j = 0; j < 5; ++j) {
      const auto first = static_cast<size_t>(i * 3 + j);
      wrong += sample.input()[j].item<int64_t>() != data.vocabulary().number(characters[first]);
      wrong += sample.target()[j].item<int64_t>() != data.vocabulary().number(characters[first + 1]);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a vocabulary can be given, and texts that do not fit it are refused") {
  const TemporaryFolder folder;
  const auto file = write_text(folder, "abcab\nc");
  const TextDataset data(file, {.block_size = 2, .vocabulary = "zcb\na"});
  CHECK(data.vocabulary().tokens() == Texts{"\n", "a", "b", "c", "z"});
  CHECK(windows(data) == Texts{"ab|bc", "ca|ab", "b\n|\nc"});
  CHECK(error_of(file, {.block_size = 2, .vocabulary = "abc"}) ==
        file.string() + ": byte 5: the character U+000A is not in the vocabulary");
  CHECK(error_of(file, {.block_size = 2, .level = "bytes", .vocabulary = "abc"}) ==
        "data.vocabulary: bytes have a vocabulary of their own; unset it, or set data.level to characters");
  CHECK(error_of(file, {.block_size = 2, .level = "words"}) ==
        R"(data.level: expected one of characters, bytes, got "words")");
  write_text(folder, "ab\xc3(");
  CHECK(error_of(file, {.block_size = 2}) ==
        file.string() + ": byte 2: not valid UTF-8; convert the text, or read it as bytes");
  write_text(folder, "");
  CHECK(error_of(file, {}) == file.string() + ": the file is empty");
  CHECK(error_of(folder / "absent", {}) ==
        (folder / "absent").string() + ": cannot be opened: No such file or directory");
}

TEST_CASE("the data module Text keeps the text's end for validation, and no character is in both parts") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 26; ++i) text += static_cast<char>('a' + i);
  const auto file = write_text(folder, text);
  Text data({.file = file.string(), .val_fraction = 0.25, .text = {.block_size = 3, .stride = 1}});
  data.setup(Stage::Fit);
  const auto& train = dynamic_cast<const TextDataset&>(*data.dataset(Split::Train));
  const auto& val = dynamic_cast<const TextDataset&>(*data.dataset(Split::Val));
  CHECK(train.length() == 19);
  CHECK(val.length() == 7);
  CHECK(windows(train).back() == "pqr|qrs");
  CHECK(windows(val) == Texts{"tuv|uvw", "uvw|vwx", "vwx|wxy", "wxy|xyz"});
  CHECK(data.vocabulary().size() == 26);
  CHECK(data.train_dataloader()[0].next()->batch.input().sizes() == at::IntArrayRef({16, 3}));
}

TEST_CASE("Text may have no validation part, and refuses parts that are too short") {
  const TemporaryFolder folder;
  const auto file = write_text(folder, "abcdefghij");
  Text all({.file = file.string(), .val_fraction = 0, .text = {.block_size = 3}});
  all.setup(Stage::Fit);
  CHECK(all.dataset(Split::Train)->size() == 3);
  CHECK(all.dataset(Split::Val) == nullptr);
  CHECK(error_text<levin::UsageError>([&] {
          Text({.file = file.string(), .val_fraction = 0.2, .text = {.block_size = 3}}).setup(Stage::Fit);
        }) == file.string() + ": 2 characters at its end, but a sample of block_size 3 and its target need 3 + 1");
  CHECK(error_text<levin::UsageError>([] { Text().setup(Stage::Fit); }) ==
        "data.file: not set; it names the text file");
}

TEST_CASE("the text of Shakespeare has 65 characters (needs LEVIN_TEST_DATA)") {
  const char* folder = std::getenv("LEVIN_TEST_DATA");
  const std::filesystem::path file = std::filesystem::path(folder ? folder : "") / "tinyshakespeare/input.txt";
  if (!folder || !std::filesystem::exists(file)) {
    WARN("SKIPPED: no tinyshakespeare/input.txt in LEVIN_TEST_DATA");
    return;
  }
  const TextDataset data(file, {.block_size = 256});
  CHECK(data.length() == 1'115'394);
  CHECK(data.vocabulary().size() == 65);
  CHECK(data.size() == 4357);
  Rng rng(0, 0, 0);
  CHECK(data.decode(data.get(0, rng).input()).substr(0, 14) == "First Citizen:");
}
