#include <levin/data/datasets/labeled_texts.h>
#include <levin/data/datasets/tagged_words.h>
#include <levin/data/datasets/text_pairs.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::Stage;
using levin::UsageError;
using levin::data::LabeledTexts;
using levin::data::LabeledTextsOptions;
using levin::data::Split;
using levin::data::TaggedWords;
using levin::data::TextPairs;

namespace {

/// A tokenizer of words between spaces, which adds [CLS] and [SEP].
constexpr const char* kTokenizer = R"({"version": "1.0", "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": null,
  "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
  "model": {"type": "WordLevel", "unk_token": "[UNK]",
            "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4, "b": 5, "c": 6, "d": 7}}})";

struct TextFolder {
  TextFolder() {
    write("tokenizer.json", kTokenizer);
    write("tokenizer_config.json", R"({"pad_token": "[PAD]", "model_max_length": 8})");
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  LabeledTextsOptions options(const std::string& file) const {
    return {.files = {.files = {file}}, .tokens = {.tokenizer = folder.path().string()}};
  }
  TemporaryFolder folder = {};
};

template <class Module>
Batch all_of(Module& module, Split split = Split::Train, Stage stage = Stage::Fit) {
  module.setup(stage);
  const auto data = module.dataset(split);
  Batch batch;
  data->get_batch(levin::data::Indices(0, data->size()), batch);
  return batch;
}

std::vector<int64_t> row(const at::Tensor& tensor, int64_t number) {
  const at::Tensor one = tensor[number].to(at::kLong).contiguous();
  return {one.const_data_ptr<int64_t>(), one.const_data_ptr<int64_t>() + one.numel()};
}

using Numbers = std::vector<int64_t>;

}  // namespace

TEST_CASE("texts with labels are padded to the longest, and cut to the model's length") {
  const TextFolder folder;
  LabeledTexts data(folder.options(folder.write(
      "x.jsonl", "{\"text\": \"a b\", \"label\": \"yes\"}\n\n{\"text\": \"c c c c c c c d\", \"label\": \"no\"}\n")));
  const Batch batch = all_of(data);
  CHECK(row(batch.input(), 0) == Numbers{2, 4, 5, 3, 0, 0, 0, 0});
  CHECK(row(batch["attention_mask"], 0) == Numbers{1, 1, 1, 1, 0, 0, 0, 0});
  CHECK(row(batch.input(), 1) == Numbers{2, 6, 6, 6, 6, 6, 6, 3});
  CHECK(row(batch["token_type_ids"], 1) == Numbers(8, 0));
  CHECK(batch.target().equal(at::tensor({1, 0}, at::kLong)));
  CHECK(data.dataset(Split::Train)->class_names() == std::vector<std::string>{"no", "yes"});
}

TEST_CASE("pairs of texts have the types of their tokens, and the longer text is cut") {
  const TextFolder folder;
  LabeledTextsOptions options =
      folder.options(folder.write("x.tsv", "text\tother\tlabel\na\tb c\t0\na\tb b b b b b\t2\n"));
  options.second_field = "other";
  LabeledTexts data(options);
  const Batch batch = all_of(data);
  CHECK(row(batch.input(), 0) == Numbers{2, 4, 3, 5, 6, 3, 0, 0});
  CHECK(row(batch["token_type_ids"], 0) == Numbers{0, 0, 0, 1, 1, 1, 0, 0});
  CHECK(row(batch.input(), 1) == Numbers{2, 4, 3, 5, 5, 5, 5, 3});
  CHECK(batch.target().equal(at::tensor({0, 2}, at::kLong)));
  CHECK(data.dataset(Split::Train)->class_names().empty());
}

TEST_CASE("what labels are is seen in the training data, or said by an option") {
  const TextFolder folder;
  const auto target_of = [&](const std::string& labels, const std::string& type = "auto",
                             const std::vector<std::string>& names = {}) {
    std::string lines;
    for (const auto& label : nlohmann::json::parse(labels))
      lines += nlohmann::json{{"text", "a"}, {"label", label}}.dump() + "\n";
    LabeledTextsOptions options = folder.options(folder.write("x.jsonl", lines));
    options.label_type = type;
    options.labels = names;
    LabeledTexts data(options);
    return all_of(data).target();
  };
  CHECK(target_of("[0, 2, 1]").equal(at::tensor({0, 2, 1}, at::kLong)));
  CHECK(target_of("[\"0\", \"2\"]").equal(at::tensor({0, 2}, at::kLong)));
  CHECK(target_of("[0, 1.5]").equal(at::tensor({0.0f, 1.5f})));
  CHECK(target_of("[3, 1]", "number").equal(at::tensor({3.0f, 1.0f})));
  CHECK(target_of("[\"b\", \"a\"]").equal(at::tensor({1, 0}, at::kLong)));
  CHECK(target_of("[\"b\", \"a\"]", "auto", {"b", "c", "a"}).equal(at::tensor({0, 2}, at::kLong)));
  CHECK(target_of("[[\"b\"], [], [\"c\", \"a\"]]")
            .equal(at::tensor({0.f, 1.f, 0.f, 0.f, 0.f, 0.f, 1.f, 0.f, 1.f}).view({3, 3})));
  CHECK(target_of("[[2], [0]]").equal(at::tensor({0.f, 0.f, 1.f, 1.f, 0.f, 0.f}).view({2, 3})));
  const auto refused = [&](const std::string& labels, const std::string& type = "auto",
                           const std::vector<std::string>& names = {}) {
    return error_text<UsageError>([&] { target_of(labels, type, names); });
  };
  CHECK(contains(refused("[\"yes\", \"noo\"]", "auto", {"yes", "no"}),
                 "x.jsonl: line 2: the label \"noo\" is none of the 2"));
  CHECK(contains(refused("[0, 5]", "auto", {"yes", "no"}), "the label 5 is none of the 2 classes"));
  CHECK(contains(refused("[0, -1]", "class"), "the label -1 is no class"));
  CHECK(contains(refused("[\"x\"]", "number"), "the label \"x\" is no number"));
  CHECK(contains(refused("[1e300]", "number"), "is no number"));
  CHECK(contains(refused("[[1], 2]"), "the label 2 is no list of classes"));
}

TEST_CASE("lines that are no texts with labels are refused by file and line") {
  const TextFolder folder;
  const auto refused = [&](const std::string& text, const std::string& name = "x.jsonl") {
    LabeledTexts data(folder.options(folder.write(name, text)));
    return error_text<UsageError>([&] { all_of(data); });
  };
  const std::string good = "{\"text\": \"a\", \"label\": 1}\n";
  CHECK(contains(refused(good + "oops\n"), "x.jsonl: line 2: is no JSON"));
  CHECK(contains(refused(good + "[1]\n"), "x.jsonl: line 2: expected a JSON object"));
  CHECK(contains(refused(good + "\n{\"label\": 1, \"body\": \"a\"}\n"),
                 "x.jsonl: line 3: has no text; there are body, label"));
  CHECK(contains(refused("{\"text\": \"a\"}\n"), "x.jsonl: line 1: has no label; there are text"));
  CHECK(contains(refused("{\"text\": 3, \"label\": 1}\n"), "text is number, not a text"));
  CHECK(contains(refused(good + std::string(5000, '[') + "\n"), "line 2: expected at most 100 levels"));
  CHECK(contains(refused(""), "data.files: no lines in"));
  CHECK(contains(refused("text,label\na,1\nb\n", "x.csv"), "x.csv:3: "));
  CHECK(contains(refused("text,text\na,b\n", "x.csv"), "two columns have the name 'text'"));
  CHECK(contains(refused("text,body\na,b\n", "x.csv"), "x.csv: line 2: has no label"));
}

TEST_CASE("options of texts that contradict each other are refused") {
  const TextFolder folder;
  const std::string file = folder.write("x.jsonl", "{\"text\": \"a\", \"label\": 1}\n");
  const auto refused = [&](const auto& change) {
    LabeledTextsOptions options = folder.options(file);
    change(options);
    return error_text<UsageError>([&] {
      LabeledTexts data(options);
      all_of(data);
    });
  };
  CHECK(contains(refused([](auto& o) { o.files.files.clear(); }), "data.files: not set"));
  CHECK(contains(refused([](auto& o) { o.tokens.tokenizer.clear(); }), "tokenizer: not set"));
  CHECK(contains(refused([](auto& o) { o.tokens.max_length = 3; }), "data.max_length: is 3, and the tokenizer adds 3"));
  CHECK(
      contains(refused([&](auto& o) { o.files.val_files = {file}, o.files.val_fraction = 0.5; }), "data.val_fraction"));
  CHECK(contains(refused([](auto& o) { o.group_by_length = true, o.shuffle = false; }), "data.group_by_length"));
  CHECK(contains(refused([](auto& o) { o.files.val_fraction = 0.5; }), "leaves none of 1 line"));
}

TEST_CASE("a share of the lines is held out, and what the training labels teach is kept for other runs") {
  const TextFolder folder;
  std::string lines;
  for (int i = 0; i < 60; ++i)
    lines +=
        nlohmann::json{{"text", i % 2 == 0 ? "a" : "b"}, {"id", i}, {"label", i % 3 == 0 ? "x" : "y"}}.dump() + "\n";
  LabeledTextsOptions options = folder.options(folder.write("x.jsonl", lines));
  options.files.val_fraction = 0.3;
  options.group_by_length = true;
  LabeledTexts data(options);
  data.setup(Stage::Fit);
  const int64_t train = data.dataset(Split::Train)->size(), val = data.dataset(Split::Val)->size();
  CHECK(train + val == 60);
  CHECK((val > 6 && val < 30));
  const levin::State learned = data.learned_state();
  LabeledTextsOptions other = folder.options("no/such/file");
  other.files.test_files = {folder.write("y.jsonl", "{\"text\": \"a\", \"label\": \"y\"}\n")};
  LabeledTexts elsewhere(other);
  elsewhere.load_learned_state(learned);
  CHECK(all_of(elsewhere, Split::Test, Stage::Test).target().equal(at::tensor({1}, at::kLong)));
  const Batch unlabeled = all_of(elsewhere, Split::Predict, Stage::Predict);
  CHECK_FALSE(unlabeled.contains("target"));
  CHECK(elsewhere.dataset(Split::Predict)->class_names() == std::vector<std::string>{"x", "y"});
}

TEST_CASE("names of classes come from the model's folder, unless transformers has made them up") {
  const TextFolder folder;
  const std::string file =
      folder.write("x.jsonl", "{\"text\": \"a\", \"label\": \"b\"}\n{\"text\": \"a\", \"label\": \"a\"}\n");
  const auto names = [&](const std::string& config) {
    folder.write("config.json", config);
    LabeledTexts data(folder.options(file));
    data.setup(Stage::Fit);
    return data.dataset(Split::Train)->class_names();
  };
  CHECK(names(R"({"id2label": {"0": "b", "1": "a", "2": "c"}})") == std::vector<std::string>{"b", "a", "c"});
  CHECK(names(R"({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}})") == std::vector<std::string>{"a", "b"});
  CHECK(names(R"({"id2label": {"0": "b", "7": "a"}})") == std::vector<std::string>{"a", "b"});
}

TEST_CASE("the length is the least that the files of the model say; RoBERTa counts from the padding token") {
  const TextFolder folder;
  const std::string file = folder.write("x.jsonl", "{\"text\": \"a a a a a a a a a\", \"label\": 0}\n");
  const auto length = [&](const std::string& config, const std::string& sentences = "{}") {
    folder.write("config.json", config);
    folder.write("sentence_bert_config.json", sentences);
    LabeledTexts data(folder.options(file));
    return all_of(data).input().size(1);
  };
  CHECK(length("{}") == 8);
  CHECK(length(R"({"max_position_embeddings": 6})") == 6);
  CHECK(length(R"({"model_type": "roberta", "max_position_embeddings": 9, "pad_token_id": 1})") == 7);
  CHECK(length(R"({"max_position_embeddings": 6})", R"({"max_seq_length": 5})") == 5);
}

TEST_CASE("a word's tag is at its first token, and -100 at all others") {
  const TextFolder folder;
  const std::string words = R"({"tokens": ["a", "b c", "", "d"], "tags": ["O", "X", "X", "O"]})";
  const auto made = [&](const std::string& lines) {
    return std::make_unique<TaggedWords>(levin::data::TaggedWordsOptions{
        .files = {.files = {folder.write("w.jsonl", lines)}}, .tokens = {.tokenizer = folder.folder.path().string()}});
  };
  const auto data = made(words + "\n");
  const Batch batch = all_of(*data);
  CHECK(row(batch.input(), 0) == Numbers{2, 4, 5, 6, 7, 3});
  CHECK(row(batch.target(), 0) == Numbers{-100, 0, 1, -100, 0, -100});
  const auto refused = [&](const std::string& lines) {
    const auto broken = made(lines);
    return error_text<UsageError>([&] { all_of(*broken); });
  };
  CHECK(contains(refused(R"({"tokens": ["a", "b"], "tags": ["O"]})"),
                 "w.jsonl: line 1: tokens has 2 words, and tags has 1"));
  CHECK(contains(refused(R"({"tokens": "a b", "tags": ["O"]})"), "tokens is string, not a list of words"));
  CHECK(contains(refused(R"({"tokens": ["a", 3], "tags": [0, 1]})"), "tokens[1] is number, not a text"));
  CHECK(contains(refused(R"({"tokens": ["a"], "tags": "O"})"), "is no list of classes"));
}

TEST_CASE("texts of pairs are sequences of their own, and scores are divided") {
  const TextFolder folder;
  const std::string file = folder.write("p.csv", "sentence1,sentence2,score\na,b c d,5\nc c,d,2.5\n");
  const auto made = [&](const std::string& second, const std::string& score) {
    return std::make_unique<TextPairs>(
        levin::data::TextPairsOptions{.files = {.files = {file}, .test_files = {file}},
                                      .tokens = {.tokenizer = folder.folder.path().string()},
                                      .second_field = second,
                                      .score_field = score,
                                      .divide_scores_by = 5});
  };
  const auto data = made("sentence2", "score");
  const Batch batch = all_of(*data);
  CHECK(row(batch.input(), 0) == Numbers{2, 4, 3, 0});
  CHECK(row(batch["second_input"], 0) == Numbers{2, 5, 6, 7, 3});
  CHECK(row(batch["second_attention_mask"], 1) == Numbers{1, 1, 1, 0, 0});
  CHECK(batch.target().equal(at::tensor({1.0f, 0.5f})));
  const auto alone = made("", "");
  CHECK_FALSE(all_of(*alone, Split::Predict, Stage::Predict).contains("second_input"));
  CHECK(contains(error_text<UsageError>([&] { made("", "score"); }), "data.score_field: a score is one of a pair"));
}
