#include <levin/data/datasets/text_jsonl.h>
#include <levin/core/system/error.h>

#include <fstream>
#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/data/counting.h"
#include "tests/data/datasets/byte_tokenizer.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::Stage;
using namespace levin::data;
using namespace levin::testing;

namespace {

using Ids = std::vector<int64_t>;

/// A folder with a tokenizer and a file of lines.
struct JsonlFolder {
  explicit JsonlFolder(const std::string& lines) {
    write_byte_tokenizer(folder / "model", byte_tokenizer_config());
    write("a.jsonl", lines);
  }
  std::string write(const std::string& name, const std::string& lines) const {
    std::ofstream(folder / name, std::ios::binary) << lines;
    return (folder / name).string();
  }
  TextJsonlDatasetOptions options() const {
    return {.encoder = {.tokenizer = (folder / "model").string()}, .max_length = 100};
  }
  TextJsonlDataset open(const TextJsonlDatasetOptions& options) const {
    return TextJsonlDataset({(folder / "a.jsonl").string()}, options);
  }

  TemporaryFolder folder = {};
};

Ids bytes_of(const std::string& text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

Ids joined(std::initializer_list<Ids> parts) {
  Ids all;
  for (const Ids& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Ids none(size_t count) { return Ids(count, -100); }

Batch all_of(const TextJsonlDataset& data) {
  Batch batch;
  data.get_batch(Indices(0, data.size()), batch);
  return batch;
}

std::string error_of(const JsonlFolder& files, const TextJsonlDatasetOptions& options) {
  return error_text<levin::UsageError>([&] { all_of(files.open(options)); });
}

/// Lines of different lengths, {"text": "n xxxx"}.
std::string many_lines(int64_t count) {
  std::string lines;
  for (int64_t i = 0; i < count; ++i)
    lines += R"({"text": ")" + std::to_string(i) + " " + std::string(static_cast<size_t>(i * 37 % 40), 'x') + "\"}\n";
  return lines;
}

/// The numbers that the texts of many_lines begin with, of the samples of a batch.
Ids numbers_in(const Batch& batch, int64_t samples) {
  Ids numbers;
  for (int64_t i = 0; i < samples; ++i) {
    const Ids row = values(batch.input()[i]);
    int64_t number = 0;
    for (size_t at = 1; row[at] != ' '; ++at) number = number * 10 + row[at] - '0';
    numbers.push_back(number);
  }
  return numbers;
}

TextJsonlOptions module_options(const JsonlFolder& files) {
  return {.files = {(files.folder / "a.jsonl").string()}, .samples = files.options(), .batch_size = 4, .seed = 5};
}

}  // namespace

TEST_CASE("a text is learned whole, from its begin to its end token, and short ones are padded") {
  const JsonlFolder files("{\"text\": \"ab\"}\r\n\n{\"text\": \"h\\u00e9llo\", \"id\": 7}\n");
  const Batch batch = all_of(files.open(files.options()));
  CHECK(values(batch.input()) == joined({{kBeginOfText, 'a', 'b', kEndOfText},
                                         Ids(4, kPadding),
                                         {kBeginOfText},
                                         bytes_of("h\u00e9llo"),
                                         {kEndOfText}}));
  CHECK(values(batch.target()) ==
        joined({{'a', 'b', kEndOfText}, none(5), bytes_of("h\u00e9llo"), {kEndOfText}, none(1)}));
  CHECK(values(batch["attention_mask"]) == joined({Ids(4, 1), Ids(4, 0), Ids(8, 1)}));
  TextJsonlDatasetOptions options = files.options();
  options.encoder.append_eos = false;
  Rng rng(0, 0, 0);
  CHECK(values(files.open(options).get(0, rng).input()) == Ids{kBeginOfText, 'a', 'b'});
}

TEST_CASE("of a prompt with its completion, the completion and the end token are learned") {
  JsonlFolder files(R"({"prompt": "\u00e9?", "completion": "yes"})");
  const Ids ids = joined({{kBeginOfText}, bytes_of("\u00e9?yes"), {kEndOfText}});
  TextJsonlDatasetOptions options = files.options();
  Batch batch = all_of(files.open(options));
  CHECK(values(batch.input()) == ids);
  CHECK(values(batch.target()) == joined({none(3), bytes_of("yes"), {kEndOfText}, none(1)}));
  options.encoder.loss_on = LossOn::All;
  batch = all_of(files.open(options));
  CHECK(values(batch.target()) == joined({Ids(ids.begin() + 1, ids.end()), none(1)}));
  files.write("a.jsonl", R"({"q": "1+1=", "a": "2", "text": "not this"})");
  options.encoder.fields.prompt_field = "q";
  options.encoder.fields.completion_field = "a";
  CHECK(values(all_of(files.open(options)).input()) == joined({{kBeginOfText}, bytes_of("1+1=2"), {kEndOfText}}));
}

TEST_CASE("of a chat, what the assistant says and the tokens that end its turns are learned") {
  const JsonlFolder files(
      R"({"messages": [{"role": "user", "content": "h\u00e9"}, {"role": "assistant", "content": "yo"},)"
      R"({"role": "human", "content": "?"}, {"role": "gpt", "content": "!"}]})");
  const Batch batch = all_of(files.open(files.options()));
  const auto turn = [](const std::string& role, const std::string& said) {
    return joined({{kTurnBegin}, bytes_of(role + "\n" + said), {kTurnEnd, '\n'}});
  };
  CHECK(values(batch.input()) ==
        joined({turn("user", "h\u00e9"), turn("assistant", "yo"), turn("user", "?"), turn("assistant", "!")}));
  Ids target = joined({none(11 + 11 - 1), {'y', 'o', kTurnEnd}, none(1), none(9), none(11), {'!', kTurnEnd}, none(2)});
  REQUIRE(target.size() == static_cast<size_t>(batch.target().numel()));
  CHECK(values(batch.target()) == target);
}

TEST_CASE("a token that means a role is not learned, though it takes the white space that an answer begins with") {
  const JsonlFolder files(
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "  hi"}]})");
  const auto file = files.folder / "model" / "tokenizer.json";
  nlohmann::json json = nlohmann::json::parse(std::ifstream(file));
  json["added_tokens"].push_back({{"id", 261},
                                  {"content", "<|assistant|>"},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", true},
                                  {"normalized", false},
                                  {"special", true}});
  std::ofstream(file) << json.dump();
  TextJsonlDatasetOptions options = files.options();
  options.encoder.chat_template = ChatTemplate::Phi3;
  const Batch batch = all_of(files.open(options));
  CHECK(values(batch.input()) ==
        joined({bytes_of("<|user|>\na<|end|>\n"), {261, 'h', 'i'}, bytes_of("<|end|>\n"), {kEndOfText}}));
  CHECK(values(batch.target()) == joined({none(18), {'h', 'i'}, bytes_of("<|end|>"), none(3)}));
}

TEST_CASE(
    "an end token in the text and one from the tokenizer are not doubled, and truncation of the file is left out") {
  const JsonlFolder files(R"({"text": "ab</s>"})");
  TextJsonlDatasetOptions options = files.options();
  const Ids ids = {kBeginOfText, 'a', 'b', kEndOfText};
  CHECK(values(all_of(files.open(options)).input()) == ids);
  const auto file = files.folder / "model" / "tokenizer.json";
  nlohmann::json json = nlohmann::json::parse(std::ifstream(file));
  json["truncation"] = {{"direction", "Right"}, {"max_length", 2}, {"strategy", "LongestFirst"}, {"stride", 0}};
  std::ofstream(file) << json.dump();
  CHECK(values(all_of(files.open(options)).input()) == ids);
}

TEST_CASE("lines that are no samples are named by file and line, loaded at once or as they come") {
  const std::map<std::string, std::string> broken = {
      {"{\"text\": \"a\"", "is no JSON, at byte 13"},
      {"{\"text\": \"\xff\"}", "is no JSON, at byte"},
      {"{\"text\": \"\\ud800\"}", "is no JSON, at byte"},
      {"[1]", "expected a JSON object"},
      {"{\"text\": 3}", "text is number, not a text"},
      {"{\"txt\": \"a\"}", "expected the field messages or prompt with completion or text; there are txt"},
      {"{}", "there is none"},
      {"{\"text\": 1e999}", "has a number that is too large"},
      {std::string(100000, '['), "levels of lists"},
      {"{\"messages\": []}", "messages is empty"},
      {"{\"messages\": [3]}", "messages[0]: is number"},
      {"{\"messages\": [{\"role\": \"tool\", \"content\": \"\"}]}", "the role 'tool' is none of"},
      {"{\"messages\": [{\"role\": \"user\"}]}", "messages[0]: has no content"}};
  for (const auto& [line, reason] : broken) {
    const JsonlFolder files("{\"text\": \"good\"}\n\n" + line + "\n{\"text\": \"good\"}");
    for (const bool preload : {false, true}) {
      TextJsonlDatasetOptions options = files.options();
      options.preload = preload;
      const std::string error = error_of(files, options);
      INFO(error);
      CHECK(error.starts_with((files.folder / "a.jsonl").string() + ": line 3: "));
      CHECK(contains(error, reason));
      CHECK(error.size() < 1000);
    }
  }
}

TEST_CASE("of many broken lines the first is named, however many threads read them") {
  std::string lines = many_lines(700);
  for (int i = 0; i < 1000; ++i) lines += "broken\n";
  const JsonlFolder files(lines);
  TextJsonlDatasetOptions options = files.options();
  options.preload = true;
  for (int i = 0; i < 5; ++i) CHECK(contains(error_of(files, options), ": line 701: "));
}

TEST_CASE("a sample that is too long is an error, truncated, or left out") {
  const JsonlFolder files("{\"text\": \"abcd\"}\n{\"text\": \"abcdefgh\"}\n{\"text\": \"x\"}\n");
  TextJsonlDatasetOptions options = files.options();
  options.max_length = 6;
  CHECK(contains(error_of(files, options), ": line 2: 10 tokens, more than data.max_length 6"));
  options.too_long = TooLong::Truncate;
  Rng rng(0, 0, 0);
  CHECK(values(files.open(options).get(1, rng).input()) == joined({{kBeginOfText}, bytes_of("abcde")}));
  CHECK(values(files.open(options).get(1, rng).target()) == joined({bytes_of("abcde"), none(1)}));
  options.too_long = TooLong::Drop;
  const TextJsonlDataset kept = files.open(options);
  CHECK(kept.size() == 2);
  CHECK(kept.lengths() == Ids{6, 3});
  options.max_length = 2;
  CHECK(contains(error_of(files, options), "3 of 3 samples have more than data.max_length 2"));
}

TEST_CASE("a line of megabytes is a sample") {
  const std::string text(3'000'000, 'z');
  const JsonlFolder files("{\"text\": \"" + text + "\"}\n{\"text\": \"a\"}\n");
  TextJsonlDatasetOptions options = files.options();
  options.max_length = 4'000'000;
  const TextJsonlDataset data = files.open(options);
  Rng rng(0, 0, 0);
  CHECK(data.get(0, rng).input().numel() == 3'000'002);
  CHECK(data.get(1, rng).input().numel() == 3);
}

TEST_CASE("packed rows hold the tokens, targets and positions of whole samples") {
  const JsonlFolder files(many_lines(60));
  TextJsonlDatasetOptions options = files.options();
  const TextJsonlDataset single = files.open(options);
  std::multiset<std::pair<Ids, Ids>> expected, seen;
  Rng rng(0, 0, 0);
  for (int64_t i = 0; i < single.size(); ++i) {
    const Batch sample = single.get(i, rng);
    expected.emplace(values(sample.input()), values(sample.target()));
  }
  for (const Packing packing : {Packing::BestFit, Packing::InOrder}) {
    options.pack = packing;
    const TextJsonlDataset packed = files.open(options);
    const Batch rows = all_of(packed);
    CHECK(packed.size() < 25);
    CHECK_FALSE(rows.contains("attention_mask"));
    seen.clear();
    for (int64_t row = 0; row < packed.size(); ++row) {
      const Ids input = values(rows.input()[row]), target = values(rows.target()[row]),
                position = values(rows["position_ids"][row]);
      REQUIRE(input.size() == 100);
      for (size_t begin = 0; begin < input.size();) {
        size_t end = begin + 1;
        while (end < input.size() && position[end] == static_cast<int64_t>(end - begin)) ++end;
        REQUIRE(position[begin] == 0);
        const Ids part(input.begin() + static_cast<int64_t>(begin), input.begin() + static_cast<int64_t>(end));
        const Ids learned(target.begin() + static_cast<int64_t>(begin), target.begin() + static_cast<int64_t>(end));
        if (part[0] == kPadding) {
          CHECK(part == Ids(part.size(), kPadding));
          CHECK(learned == none(part.size()));
          CHECK(end == input.size());
        } else {
          seen.emplace(part, learned);
        }
        begin = end;
      }
    }
    CHECK(seen == expected);
  }
}

TEST_CASE("ranks see each line once, and a resumed loader gives the rest, plain and grouped by length") {
  const JsonlFolder files(many_lines(103));
  for (const bool grouped : {false, true}) {
    TextJsonlOptions options = module_options(files);
    options.group_by_length = grouped;
    options.num_workers = 1;
    for (const int64_t world : {1, 2, 3}) {
      Ids seen;
      for (int64_t rank = 0; rank < world; ++rank) {
        TextJsonl data(options);
        data.setup(Stage::Fit);
        const Loaders loaders = data.train_dataloader();
        Loader& loader = loaders[0];
        loader.shard(rank, world);
        loader.set_epoch(2);
        Ids own;
        levin::State middle;
        size_t at_middle = 0;
        while (auto loaded = loader.next()) {
          const Ids numbers = numbers_in(loaded->batch, loaded->samples);
          own.insert(own.end(), numbers.begin(), numbers.end());
          if (own.size() < 12 || at_middle > 0) continue;
          middle = loader.state_dict();
          at_middle = own.size();
        }
        seen.insert(seen.end(), own.begin(), own.end());
        TextJsonl again(options);
        again.setup(Stage::Fit);
        const Loaders resumed = again.train_dataloader();
        resumed[0].shard(rank, world);
        resumed[0].load_state_dict(middle);
        Ids rest;
        while (auto loaded = resumed[0].next()) {
          const Ids numbers = numbers_in(loaded->batch, loaded->samples);
          rest.insert(rest.end(), numbers.begin(), numbers.end());
        }
        CHECK(rest == Ids(own.begin() + static_cast<int64_t>(at_middle), own.end()));
      }
      CHECK(sorted(seen) == range(103));
    }
  }
}

TEST_CASE("grouping by length leaves less padding") {
  const JsonlFolder files(many_lines(400));
  const auto padding = [&](bool grouped) {
    TextJsonlOptions options = module_options(files);
    options.group_by_length = grouped;
    TextJsonl data(options);
    data.setup(Stage::Fit);
    const Loaders loaders = data.train_dataloader();
    int64_t padded = 0;
    while (auto loaded = loaders[0].next()) padded += loaded->batch["attention_mask"].eq(0).sum().item<int64_t>();
    return padded;
  };
  CHECK(padding(true) < padding(false) / 4);
  TextJsonlOptions options = module_options(files);
  options.group_by_length = true;
  options.shuffle = false;
  CHECK_THROWS_AS(TextJsonl(options), levin::UsageError);
  options.shuffle = true;
  options.samples.pack = Packing::BestFit;
  CHECK_THROWS_AS(TextJsonl(options), levin::UsageError);
}

TEST_CASE("lines held out for validation stay so when others are added, and no line is in both parts") {
  JsonlFolder files(many_lines(200));
  const auto split = [&] {
    TextJsonlOptions options = module_options(files);
    options.val_fraction = 0.2;
    TextJsonl data(options);
    data.setup(Stage::Fit);
    std::pair<std::set<int64_t>, std::set<int64_t>> parts;
    for (const bool val : {false, true}) {
      const Loaders loaders = val ? data.val_dataloader() : data.train_dataloader();
      while (auto loaded = loaders[0].next())
        for (const int64_t number : numbers_in(loaded->batch, loaded->samples))
          (val ? parts.second : parts.first).insert(number);
    }
    return parts;
  };
  const auto [train, val] = split();
  CHECK(train.size() + val.size() == 200);
  CHECK(val.size() > 20);
  CHECK(val.size() < 60);
  files.write("a.jsonl", many_lines(230));
  const auto [more_train, more_val] = split();
  CHECK(std::ranges::includes(more_val, val));
  CHECK(std::ranges::includes(more_train, train));
  CHECK(more_train.size() + more_val.size() == 230);
  files.write("a.jsonl", many_lines(2));
  CHECK(contains(error_text<levin::UsageError>([&] { split(); }), "data.val_fraction: 0.2 leaves none of 2 lines for"));
}

TEST_CASE("options of TextJsonl that say too little or contradict each other are refused") {
  const JsonlFolder files(many_lines(3));
  const auto setup_error = [&](const TextJsonlOptions& options) {
    return error_text<levin::UsageError>([&] { TextJsonl(options).setup(Stage::Fit); });
  };
  TextJsonlOptions options = module_options(files);
  options.files.clear();
  CHECK(contains(setup_error(options), "data.files: not set"));
  options = module_options(files);
  options.samples.encoder.tokenizer.clear();
  CHECK(contains(setup_error(options), "tokenizer: not set"));
  options = module_options(files);
  options.samples.encoder.eos_token = "<nothing>";
  CHECK(contains(setup_error(options), "has no token '<nothing>'"));
  options = module_options(files);
  options.val_files = options.files;
  options.val_fraction = 0.5;
  CHECK(contains(setup_error(options), "data.val_fraction"));
  files.write("a.jsonl", "");
  CHECK(contains(setup_error(module_options(files)), "data.files: no lines in"));
  files.write("a.jsonl", R"({"messages": [{"role": "user", "content": "a"}]})");
  write_byte_tokenizer(files.folder / "model", {{"eos_token", "</s>"}, {"chat_template", "{{ messages }}"}});
  CHECK(contains(error_of(files, files.options()),
                 "set chat_template to one of chatml, qwen3, llama2, llama3, llama3.1"));
  std::ofstream(files.folder / "model" / "tokenizer_config.json") << "{]";
  CHECK(contains(error_of(files, files.options()), "tokenizer_config.json: is no JSON object"));
}
