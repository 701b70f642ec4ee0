#include <levin/data/datasets/text_preferences.h>
#include <levin/core/system/error.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/data/datasets/byte_tokenizer.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using namespace levin::data;
using namespace levin::testing;

namespace {

/// A folder with a tokenizer, and a file with one line.
struct PreferencesFolder {
  explicit PreferencesFolder(const std::string& line) {
    write_byte_tokenizer(folder / "model", byte_tokenizer_config());
    std::ofstream(folder / "a.jsonl", std::ios::binary) << line << "\n";
  }
  Batch sample(const std::string& system = "") const {
    const TextPreferencesDataset data(
        std::make_shared<const TextLines>(std::vector<std::string>{(folder / "a.jsonl").string()}),
        {.tokenizer = (folder / "model").string(), .system_message = system});
    Rng rng(0, 0, 0);
    return data.get(0, rng);
  }
  std::string error() const {
    return error_text<levin::UsageError>([&] { sample(); });
  }

  TemporaryFolder folder = {};
};

/// Returns what the model learns to write in row 0 (chosen) or 1 (rejected), with `>` for the token that ends a turn
/// and
/// `$` for that of the text.
std::string learned(const Batch& sample, int64_t row) {
  std::string text;
  const at::Tensor target = sample.target()[row].contiguous();
  for (int64_t i = 0; i < target.numel(); ++i) {
    const int64_t id = target.const_data_ptr<int64_t>()[i];
    if (id >= 0) text += id == kTurnEnd ? '>' : id == kEndOfText ? '$' : static_cast<char>(id);
  }
  return text;
}

/// Returns how many tokens a row has.
int64_t tokens_of(const Batch& sample, int64_t row) { return sample["attention_mask"][row].sum().item<int64_t>(); }

const std::string kPrompt = R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                                {"role": "user", "content": "c"}])";

std::string answer(const std::string& text) { return R"([{"role": "assistant", "content": ")" + text + R"("}])"; }

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

}  // namespace

TEST_CASE("of two texts behind a prompt each is learned with the end token") {
  const Batch sample = PreferencesFolder(R"({"prompt": "ab", "chosen": "cd", "rejected": "e"})").sample();
  CHECK(learned(sample, 0) == "cd$");
  CHECK(learned(sample, 1) == "e$");
  CHECK(sample.input().sizes() == at::IntArrayRef({1, 2, 6}).slice(1));
  CHECK(tokens_of(sample, 0) == 6);
  CHECK(tokens_of(sample, 1) == 5);
}

TEST_CASE("of two chats the answers behind the prompt are learned, whether it is a field or how both begin") {
  const std::string field = one_line(R"({"prompt": )" + kPrompt + R"(, "chosen": )" + answer("yes") +
                                     R"(, "rejected": )" + answer("n") + "}");
  const auto whole = [](const std::string& text) {
    return kPrompt.substr(0, kPrompt.size() - 1) + ", " + answer(text).substr(1);
  };
  const std::string begin = R"(, "chosen": )" + whole("yes") + R"(, "rejected": )" + whole("n") + "}";
  const Batch expected = PreferencesFolder(field).sample();
  CHECK(learned(expected, 0) == "yes>");
  CHECK(learned(expected, 1) == "n>");
  // A prompt that is a text says again what the chats begin with.
  for (const std::string& line : {R"({"id": 1)" + begin, R"({"prompt": "c")" + begin, R"({"prompt": null)" + begin}) {
    INFO(line);
    const Batch sample = PreferencesFolder(one_line(line)).sample();
    CHECK(sample.input().equal(expected.input()));
    CHECK(sample.target().equal(expected.target()));
  }
  const Batch with_system = PreferencesFolder(field).sample("s");
  CHECK(learned(with_system, 0) == "yes>");
  CHECK(tokens_of(with_system, 0) ==
        tokens_of(expected, 0) + static_cast<int64_t>(std::string("|system\ns|\n").size()));
}

TEST_CASE("lines that are no preferences are refused with what is wrong") {
  const auto says = [](const std::string& line) { return PreferencesFolder(one_line(line)).error(); };
  const std::string lists = R"({"prompt": )" + kPrompt + R"(, "chosen": )";
  CHECK(contains(says(lists + answer("a") + R"(, "rejected": "b"})"), "line 1: rejected is string; expected a list"));
  CHECK(contains(says(lists + R"("a", "rejected": "b"})"), "line 1: prompt is array, not a text"));
  CHECK(contains(says(lists + "[], \"rejected\": " + answer("b") + "}"), "line 1: chosen is empty"));
  CHECK(contains(says(R"({"chosen": "a", "rejected": "b"})"), "line 1: has no prompt; there are chosen, rejected"));
  CHECK(contains(says(R"({"prompt": "a", "rejected": "b"})"), "there are prompt, rejected"));
  CHECK(contains(says(R"({"chosen": )" + answer("a") + R"(, "rejected": )" + answer("a") + "}"),
                 "line 1: chosen has no answer of the assistant that differs"));
  CHECK(contains(says(lists + answer("a") + R"(, "rejected": [{"role": "user", "content": "x"}]})"),
                 "line 1: rejected has no answer of the assistant"));
  CHECK(contains(says(lists + R"([{"role": "robot", "content": "x"}], "rejected": )" + answer("b") + "}"),
                 "line 1: chosen[0]: the role 'robot' is none of"));
}
