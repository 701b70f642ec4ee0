#include <levin/data/datasets/readers/split_text.h>

#include "tests/catch.h"
#include "tests/data/datasets/byte_tokenizer.h"
#include "tests/temporary_folder.h"

using levin::Tokenizer;
using levin::data::split_text;
using levin::testing::write_byte_tokenizer;

namespace {

std::vector<int32_t> plain_tokens(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, {.add_special_tokens = false, .with_offsets = false}).ids;
}

}  // namespace

TEST_CASE("a text is divided behind line breaks, where that changes no token") {
  const TemporaryFolder folder;
  write_byte_tokenizer(folder.path(), {});
  const Tokenizer tokenizer = Tokenizer::from_file(folder.path());
  const std::string text = "ab\ncd \nef\n\ngh\n\u00e9\u00e8\nxyz";
  const std::vector<size_t> ends = split_text(text, 2, tokenizer);
  std::vector<std::string> pieces;
  std::vector<int32_t> tokens;
  size_t begin = 0;
  for (const size_t end : ends) {
    pieces.push_back(text.substr(begin, end - begin));
    const std::vector<int32_t> some = plain_tokens(tokenizer, pieces.back());
    tokens.insert(tokens.end(), some.begin(), some.end());
    begin = end;
  }
  CHECK(pieces == std::vector<std::string>{"ab\n", "cd \nef\n\ngh\n", "\u00e9\u00e8\n", "xyz"});
  CHECK(tokens == plain_tokens(tokenizer, text));
  CHECK(split_text("", 5, tokenizer) == std::vector<size_t>{0});
  CHECK(split_text("no break here", 2, tokenizer) == std::vector<size_t>{13});
}

TEST_CASE("a tokenizer that begins each text with something divides none") {
  const TemporaryFolder folder;
  write_byte_tokenizer(folder.path(), {});
  nlohmann::json json = nlohmann::json::parse(std::ifstream(folder / "tokenizer.json"));
  json["pre_tokenizer"]["add_prefix_space"] = true;
  const Tokenizer tokenizer = Tokenizer::from_json(json.dump(), "t");
  CHECK(split_text("ab\ncd\nef", 2, tokenizer) == std::vector<size_t>{8});
}
